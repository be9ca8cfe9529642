// A stand-in for `codex app-server`: its protocol, the scripted model behind it, and the faults that a test asks for in APP_SERVER_FAULTS.
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ScriptedModel } from "../../src/engines/native/scripted/scriptedModel.js";
import type { Faults } from "../support/codex/appServerDouble.js";
import { REQUESTS_FILE, servicesOfDouble } from "../support/codex/appServerDoubleServices.js";

type Json = Readonly<Record<string, unknown>>;

const faults = JSON.parse(process.env["APP_SERVER_FAULTS"] ?? "{}") as Faults;
const version = faults.version ?? "0.166.0";
const methods = ["initialize", "thread/start", "thread/resume", "turn/start", "turn/interrupt", "thread/backgroundTerminals/clean"];
const others = [
  "thread/unsubscribe",
  "thread/loaded/list",
  "account/read",
  "thread/settings/update",
  "thread/compact/start",
  "review/start",
  "turn/steer",
];
const known = new Set([...methods, ...others, ...(faults.config ? ["config/read"] : [])].filter((method) => method !== faults.lacks));
const services = servicesOfDouble(faults, notify);
const model = new ScriptedModel();
const histories = new Map<string, Json[]>();
const running = new Map<string, { turnId: string; abort: AbortController }>();
/** Its requests that have no answer yet. */
const questions = new Map<number, (answer: Json) => void>();
let overloads = faults.overloads ?? 0;
/** It asks each question once. Further input for the turn starts the turn again. */
let asked = false;

if (process.argv.includes("--version")) {
  console.log(`codex-cli ${version}`);
  process.exit(0);
}
if (faults.atStart === "exit") {
  console.error("error: the double was told to exit");
  process.exit(3);
}
if (faults.atStart === "garbage") process.stdout.write('\n\0{"half":\n[1,2]\n"text"\n{"id":77,"result":{}}\nWelcome!\n');
if (faults.atStart !== "hang")
  createInterface({ input: process.stdin }).on("line", (line) => receive(JSON.parse(line) as Json & { id: number; method: string }));
else process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

function send(message: Json): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function notify(method: string, params: Json): void {
  send({ method, params, emittedAtMs: Date.now() });
}

function receive({ id, method, params, result }: { id: number; method?: string; params?: Json; result?: Json }): void {
  if (id !== undefined && method === undefined) questions.get(id)?.(result ?? {});
  if (id === undefined || method === undefined) return;
  if (overloads > 0 && method !== "initialize") {
    overloads--;
    return send({ id, error: { code: -32001, message: "Server overloaded; retry later." } });
  }
  if (method !== "initialize")
    appendFileSync(path.join(process.env["CODEX_HOME"] ?? "", REQUESTS_FILE), `${JSON.stringify({ method, params })}\n`);
  const reply = (answer: Json) => send("error" in answer ? { id, ...answer } : { id, result: answer });
  const offered = method === faults.lacks ? undefined : services(method, params ?? {});
  if (offered instanceof Promise) void offered.then(reply);
  else reply(offered ?? answerTo(method, params ?? {}));
}

function answerTo(method: string, params: Json): Json {
  const threadId = String(params["threadId"]);
  switch (known.has(method) ? method : "") {
    case "initialize":
      if (faults.refusesCapabilities && "capabilities" in params) return refusal("unknown field `capabilities`");
      return { userAgent: faults.userAgent ?? `double/${version} (Test 1; x86_64)`, codexHome: process.env["CODEX_HOME"] };
    case "config/read":
      return { config: faults.config };
    case "thread/start":
      if (faults.dies === "before the thread") process.kill(process.pid, "SIGKILL");
      return opened(randomUUID(), params);
    case "thread/resume":
      return existsSync(fileOf(threadId)) ? opened(threadId, params) : refusal(`no rollout found for thread id ${threadId}`);
    case "turn/start":
      return startTurn(threadId, params);
    case "thread/compact/start":
      return startWork(threadId, [{ type: "contextCompaction", id: randomUUID() }]);
    case "review/start":
      return startWork(threadId, [
        { type: "enteredReviewMode", id: randomUUID(), review: "what was asked for" },
        { type: "exitedReviewMode", id: randomUUID(), review: "fine" },
      ]);
    case "turn/steer":
      return steer(threadId, params);
    case "turn/interrupt":
      if (!faults.ignoresInterrupts) running.get(threadId)?.abort.abort();
      return {};
    case "thread/backgroundTerminals/clean":
    case "thread/unsubscribe":
    case "thread/settings/update":
    case "thread/loaded/list":
      return {};
    default:
      return refusal(
        `Invalid request: unknown variant \`${method}\`, expected one of ${[...known].map((name) => `\`${name}\``).join(", ")}`,
      );
  }
}

function refusal(message: string): Json {
  return { error: { code: -32600, message } };
}

function fileOf(threadId: string): string {
  return path.join(process.env["CODEX_HOME"] ?? "", `double-${threadId}.json`);
}

function opened(id: string, { sandbox, permissions }: Json): Json {
  const history = existsSync(fileOf(id)) ? (JSON.parse(readFileSync(fileOf(id), "utf8")) as Json[]) : [];
  histories.set(id, history);
  const given =
    faults.sandbox ??
    { "read-only": "readOnly", "workspace-write": "workspaceWrite" }[permissions ? "read-only" : String(sandbox)] ??
    "dangerFullAccess";
  return { thread: { id, path: fileOf(id) }, model: "model-of-the-double", modelProvider: "double", sandbox: { type: given } };
}

function remember(threadId: string, item: Json): void {
  const history = histories.get(threadId) ?? [];
  history.push(item);
  writeFileSync(fileOf(threadId), JSON.stringify(history));
}

function startTurn(threadId: string, { input }: Json): Json {
  if (faults.dies === "before the turn") process.kill(process.pid, "SIGKILL");
  const turn = { turnId: randomUUID(), abort: new AbortController() };
  running.set(threadId, turn);
  setImmediate(() => void play(threadId, turn, textsIn(input)));
  return faults.changedShapes ? { turn: 7 } : { turn: { id: turn.turnId, status: "inProgress", items: [] } };
}

function textsIn(input: unknown): string[] {
  return (input as { text: string }[]).map(({ text }) => text);
}

/** Accepts further input, and ends the turn without another request to the model. */
function steer(threadId: string, { input, expectedTurnId }: Json): Json {
  const turn = running.get(threadId);
  if (!turn || turn.turnId !== expectedTurnId) return refusal("no active turn to steer");
  running.delete(threadId);
  for (const text of textsIn(input)) hear(threadId, turn.turnId, text);
  turn.abort.abort();
  return { turnId: turn.turnId };
}

function hear(threadId: string, turnId: string, text: string): void {
  const item = { type: "userMessage", id: randomUUID(), content: [{ type: "text", text }] };
  for (const method of ["item/started", "item/completed"]) notify(method, { threadId, turnId, item });
  remember(threadId, { type: "message", role: "user", content: [{ type: "input_text", text }] });
}

/** A turn without a model. */
function startWork(threadId: string, items: readonly Json[]): Json {
  const turnId = randomUUID();
  setImmediate(() => {
    notify("turn/started", { threadId, turn: { id: turnId, status: "inProgress" } });
    for (const item of items) {
      notify("item/started", { threadId, turnId, item });
      if (faults.dies === "in the turn") process.kill(process.pid, "SIGKILL");
      notify("item/completed", { threadId, turnId, item });
    }
    notify("turn/completed", { threadId, turn: { id: turnId, items: [], error: null, status: "completed" } });
  });
  return {};
}

async function play(threadId: string, turn: { turnId: string; abort: AbortController }, texts: readonly string[]): Promise<void> {
  const { turnId, abort } = turn;
  const tell = (method: string, params: Json) => notify(method, { threadId, turnId, ...params });
  notify("turn/started", { threadId, turn: { id: turnId, status: "inProgress" } });
  for (const text of texts) hear(threadId, turnId, text);
  if (faults.flood)
    for (let at = 0; at < faults.flood; at++) tell("item/commandExecution/outputDelta", { itemId: "x", delta: "y".repeat(1000) });
  if (faults.changedShapes)
    for (const params of [{}, { item: 7 }, { item: { type: "new" } }, { delta: {} }]) tell("item/completed", params);
  if (faults.dies === "in the turn") process.kill(process.pid, "SIGKILL");
  if (faults.wants && !asked) {
    asked = true;
    await askFor(faults.wants, tell);
  }
  const ending = await answers(threadId, tell, abort.signal).catch(() => ({
    status: running.get(threadId) === turn ? "interrupted" : "completed",
  }));
  running.delete(threadId);
  notify("turn/completed", { threadId, turn: { id: turnId, items: [], error: null, ...ending } });
}

async function askFor(permissions: Json, tell: (method: string, params: Json) => void): Promise<void> {
  const id = questions.size + 1;
  const answer = new Promise<Json>((resolve) => questions.set(id, resolve));
  tell("item/started", { item: { type: "plan", id: "p", text: "" } });
  send({ id, method: "item/permissions/requestApproval", params: { threadId: [...running.keys()][0], itemId: "p", permissions } });
  tell("item/agentMessage/delta", { itemId: "granted", delta: JSON.stringify(await answer) });
  tell("item/completed", { item: { type: "agentMessage", id: "granted", text: JSON.stringify(await answer) } });
}

async function answers(threadId: string, tell: (method: string, params: Json) => void, signal: AbortSignal): Promise<Json> {
  for (;;) {
    const tools = [{ type: "function", name: "update_plan" }];
    const answer = model.answer({ model: "mock-model", input: histories.get(threadId) ?? [], tools });
    await sleep(answer.delayMs, undefined, { signal });
    let calls = 0;
    let failure = answer.status === 200 ? undefined : `unexpected status ${answer.status}`;
    for (const event of answer.events) {
      if (answer.gapMs > 0 && event.type.endsWith(".delta")) await sleep(answer.gapMs, undefined, { signal });
      signal.throwIfAborted();
      show(event, tell);
      if (event.type === "response.failed") failure = "the response failed";
      if (event.type !== "response.output_item.done") continue;
      const item = event["item"] as Json;
      remember(threadId, item);
      if (item["type"] !== "function_call") continue;
      calls++;
      remember(threadId, { type: "function_call_output", call_id: item["call_id"], output: "done" });
    }
    if (answer.ending === "hang") await sleep(2 ** 30, undefined, { signal });
    if (answer.ending === "cut") failure = "stream disconnected before completion";
    if (failure !== undefined) {
      tell("error", { error: { message: failure }, willRetry: false });
      return { status: "failed", error: { message: failure } };
    }
    if (calls === 0) return { status: "completed" };
  }
}

function show(event: Json, tell: (method: string, params: Json) => void): void {
  const { item_id: itemId, delta } = event;
  if (event["type"] === "response.output_text.delta") tell("item/agentMessage/delta", { itemId, delta });
  if (event["type"] === "response.reasoning_summary_text.delta")
    tell("item/reasoning/summaryTextDelta", { itemId, delta, summaryIndex: 0 });
  const method = { "response.output_item.added": "item/started", "response.output_item.done": "item/completed" }[String(event["type"])];
  const item = event["item"] as Json | undefined;
  if (method === undefined || item === undefined) return;
  const texts = ((item["content"] ?? item["summary"] ?? []) as { text: string }[]).map(({ text }) => text);
  if (item["type"] === "message") tell(method, { item: { type: "agentMessage", id: item["id"], text: texts.join("") } });
  if (item["type"] === "reasoning") tell(method, { item: { type: "reasoning", id: item["id"], summary: texts, content: [] } });
}
