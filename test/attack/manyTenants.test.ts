import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { ask, type EventStream, handshake, openStream, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { openSocket, type SocketClient } from "../support/http/httpSocketClient.js";
import { codexCall, stateless } from "../support/http/statelessHttp.js";
import { SeededRandom } from "../support/patch/random.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { ALL_ATTACKS } from "./attack.js";
import { Ground } from "./ground.js";
import { type Attempt, type Estate, inventAttempts, TASK_CAPABILITIES } from "./tenantAttempts.js";
import { until, Victim } from "./victim.js";

type Headers = Readonly<Record<string, string>>;

const SEED = 20_261_115;
const ATTEMPTS = ALL_ATTACKS ? 400 : 80;
const AT_ONCE = 4;
const SCENE_MS = 180_000;
const ASKING = { "approval-policy": "untrusted", sandbox: "workspace-write" };
const APPROVED = { action: "accept", decision: "approved", content: { decision: "approved" } };

/** Asks for the answer in a single body instead of a stream. */
const ONE_BODY = { "x-mcp-post-stream": "0" };

/** A caller who attacks nobody, and everything that belongs to them. */
interface Owner {
  readonly headers: Headers;
  readonly estate: Estate;
  /** The stream of the session; its calls have streams of their own. */
  readonly stream: EventStream;
  readonly calls: Readonly<Record<"running" | "asking", EventStream>>;
}

async function settleIn(ground: Ground, url: string, who: "bob" | "root"): Promise<Owner> {
  const authorization = `Bearer ${ground.secret(`token of ${who}`)}`;
  const capabilities = { elicitation: {} };
  const { session = "" } = await ask(url, { headers: { authorization, ...SPEC }, message: handshake(0, { capabilities }) });
  const headers = { authorization, "mcp-session-id": session };
  const stream = await openStream(url, { headers });
  const secret = (what: string) => ground.secret(`${what} of ${who}`);
  const call = async (id: string, args: object, tool = "codex") =>
    (await ask(url, { headers: { ...headers, ...ONE_BODY }, message: toolCall(id, { ...args }, tool) })).body;
  const threadOf = (body: unknown) => String(valueAt(body, "result.structuredContent.threadId"));
  const idle = threadOf(await call("idle", { prompt: `!say ${secret("idle thread")}` }));
  const archived = threadOf(await call("archived", { prompt: `!say ${secret("archived thread")}` }));
  await call("archiving", { action: "archive", threadId: archived }, "codex-manage");
  const begin = (id: string, args: object) =>
    openStream(url, { headers: { ...headers, ...SPEC_LATER }, message: toolCall(id, { ...args }) });
  const threadOfCall = async (begun: EventStream) => String(valueAt(await begun.step("session_configured"), "params.msg.session_id"));
  const running = await begin("running", { prompt: `${secret("running turn")}\n!hang` });
  const asking = await begin("asking", { prompt: `!shell echo ${secret("question")} > made-by-${who}.txt\n!say done`, ...ASKING });
  const question = await asking.question();
  const waiting = await ask(url, codexCall({ prompt: "!shell touch stateless.txt\n!say done", ...ASKING }, { headers: { authorization } }));
  const task = await ask(
    url,
    codexCall({ prompt: `${secret("task")}\n!hang` }, { headers: { authorization }, capabilities: TASK_CAPABILITIES }),
  );
  const api = async (at: string) => (await ask(url, { path: `/api/v1${at}`, headers: { authorization } })).body;
  const threads = { idle, archived, running: await threadOfCall(running), asking: await threadOfCall(asking) };
  const method = async (id: string, name: string, params: object) =>
    (await ask(url, { headers: { ...headers, ...ONE_BODY }, message: rpc(id, name, { ...params }) })).body;
  const listed = await method("paths", "listConversations", { pageSize: 100 });
  const estate: Estate = {
    who,
    token: ground.secret(`token of ${who}`),
    session,
    lastEventId: asking.lastEventId,
    threads,
    calls: { running: "running", asking: "asking" },
    questionId: question["id"],
    requestState: String(valueAt(waiting.body, "result.requestState")),
    taskId: String(valueAt(task.body, "result.taskId")),
    approvalId: textIn(await api(`/approvals?threadId=${threads.asking}`), "approvals", "id"),
    turnId: textIn(await api(`/threads/${threads.running}`), "turns", "id"),
    eventsAfter: String(valueAt(await api(`/threads/${threads.running}/items`), "eventsAfter")),
    cursors: [
      String(valueAt(await api("/threads?limit=1"), "nextCursor")),
      String(valueAt(await method("cursor", "listConversations", { pageSize: 1 }), "result.nextCursor")),
    ],
    subscriptionId: String(
      valueAt(await method("listening", "addConversationListener", { conversationId: idle }), "result.subscriptionId"),
    ),
    rolloutPath: textIn(listed, "result.items", "path", (item) => valueAt(item, "conversationId") === idle),
  };
  return { headers: { ...headers, ...ONE_BODY }, estate, stream, calls: { running, asking } };
}

/** A field of the first entry that matches. Fails if no entry does, since then nothing would be attacked. */
function textIn(body: unknown, list: string, field: string, fits: (entry: unknown) => boolean = () => true): string {
  const entries: unknown = valueAt(body, list);
  const found = Array.isArray(entries) ? valueAt(entries.find(fits), field) : undefined;
  if (typeof found !== "string") throw new Error(`no ${field} in ${list} of ${JSON.stringify(body)}`);
  return found;
}

/** The caller who tries every attempt. */
class Attacker implements Disposable {
  readonly #answers: string[] = [];
  #lastId = 1_000;

  private constructor(
    private readonly url: string,
    private readonly authorization: Headers,
    private readonly session: Headers,
    private readonly socket: SocketClient,
    private readonly stream: EventStream,
  ) {}

  static async arrive(ground: Ground, url: string): Promise<Attacker> {
    const authorization = { authorization: `Bearer ${ground.secret("token of alice")}` };
    const { session = "" } = await ask(url, { headers: authorization, message: handshake(0, { capabilities: { elicitation: {} } }) });
    const own = { ...authorization, "mcp-session-id": session };
    const socket = await openSocket(url, { headers: authorization });
    socket.send(handshake(0));
    await socket.answerTo(0);
    return new Attacker(url, authorization, own, socket, await openStream(url, { headers: own }));
  }

  /** Everything that the attacker received. */
  get loot(): string {
    return [...this.#answers, JSON.stringify(this.socket.messages), JSON.stringify(this.stream.messages)].join("\n");
  }

  /** Fails if there is no answer. */
  async try(attempt: Attempt): Promise<void> {
    const answer = await this.#send(attempt).catch((cause: unknown) => {
      throw new Error(`No answer to attempt ${attempt.name}: ${String(cause)}`, { cause });
    });
    this.#answers.push(`${attempt.name} -> ${JSON.stringify(answer)}`);
  }

  async #send(attempt: Attempt): Promise<unknown> {
    const id = ++this.#lastId;
    switch (attempt.by) {
      case "session":
        return (await ask(this.url, { headers: this.session, message: rpc(id, attempt.method, attempt.params) })).body;
      case "stateless":
        return (await ask(this.url, this.#stateless(attempt, id))).body;
      case "websocket":
        this.socket.send(rpc(id, attempt.method, attempt.params));
        return this.socket.answerTo(id);
      case "notice":
        this.socket.send(attempt.message);
        return (await ask(this.url, { headers: this.session, message: attempt.message })).body;
      case "http":
        return this.#bare(attempt);
      case "upgrade":
        return this.#upgrade(attempt);
    }
  }

  #stateless({ method, params }: { readonly method: string; readonly params: object }, id: number) {
    const question = stateless({ method, params: { ...params }, id, headers: this.authorization, capabilities: TASK_CAPABILITIES });
    return { ...question, headers: { ...question.headers, accept: "application/json" } };
  }

  async #bare({ question, own }: Extract<Attempt, { by: "http" }>): Promise<unknown> {
    const headers = { ...(own ? this.authorization : {}), ...question.headers };
    if (headers["accept"] !== "text/event-stream") return (await ask(this.url, { ...question, headers })).body;
    try {
      using stream = await openStream(this.url, { ...question, headers });
      // The server sends replayed events before the answer to a later request.
      await ask(this.url, { headers: this.session, message: rpc(++this.#lastId, "ping") });
      if (question.path?.startsWith("/api/v1/")) await this.#ownEvent(stream, headers);
      // Events of the API have names and are not JSON-RPC messages.
      return [stream.messages, stream.events];
    } catch (error) {
      return String(error);
    }
  }

  /** Replayed events come before new ones, so the test waits for a new event of the attacker's own thread. */
  async #ownEvent({ events }: EventStream, headers: Headers): Promise<void> {
    const message = { prompt: "!say mine", wait: 30 };
    const { body } = await ask(this.url, { path: "/api/v1/threads", headers: { authorization: headers["authorization"] ?? "" }, message });
    const own = String(valueAt(body, "turn.threadId"));
    if (!(await until(() => events.some(({ data }) => data.includes(own))))) throw new Error(`no event of ${own}`);
  }

  async #upgrade({ headers, path: at }: Extract<Attempt, { by: "upgrade" }>): Promise<unknown> {
    try {
      using socket = await openSocket(this.url, { headers: { ...this.authorization, ...headers }, ...(at && { path: at }) });
      socket.send(handshake(1));
      await socket.answerTo(1);
      return socket.messages;
    } catch (error) {
      return String(error);
    }
  }

  [Symbol.dispose](): void {
    this.socket[Symbol.dispose]();
    this.stream.breakOff();
  }
}

/** A hash of the rollouts of these threads. */
function rollouts({ codexHome }: Ground, threads: readonly string[]): string {
  const hash = createHash("sha256");
  const files = readdirSync(codexHome, { recursive: true, encoding: "utf8" }).sort();
  for (const file of files.filter((name) => threads.some((id) => name.endsWith(`${id}.jsonl`))))
    hash.update(`${file}\0`).update(readFileSync(path.join(codexHome, file)));
  return hash.digest("hex");
}

/** Does everything an owner can do with their own things. An action that fails means that something was taken from them. */
async function useEverything(url: string, { headers, estate, stream, calls }: Owner): Promise<Record<string, boolean>> {
  const { threads, questionId, requestState, taskId } = estate;
  const { authorization = "" } = headers;
  let last = 0;
  const call = async (tool: string, args: object) =>
    valueAt((await ask(url, { headers, message: toolCall(`own-${++last}`, { ...args }, tool) })).body, "result");
  const worked = async (tool: string, args: object) => valueAt(await call(tool, args), "isError") !== true;
  const ofTask = async (method: string, params: object = {}) =>
    (await ask(url, stateless({ method, params: { taskId, ...params }, headers: { authorization }, capabilities: TASK_CAPABILITIES })))
      .body;
  const done: Record<string, boolean> = {};
  done["list"] = JSON.stringify(await call("codex-threads", { limit: 100 })).includes(threads.idle);
  done["archived list"] = JSON.stringify(await call("codex-threads", { archived: true })).includes(threads.archived);
  done["reply"] = await worked("codex-reply", { threadId: threads.idle, prompt: "!say still mine" });
  done["fork"] = await worked("codex-manage", { action: "fork", threadId: threads.idle });
  done["summary"] = await worked("codex-manage", { action: "compact", threadId: threads.idle });
  done["unarchive"] = await worked("codex-manage", { action: "unarchive", threadId: threads.archived });
  done["steer"] = await worked("codex-steer", { threadId: threads.running, prompt: "!say steered" });
  done["task"] = valueAt(await ofTask("tasks/get"), "result.status") === "working";
  await ofTask("tasks/cancel");
  done["task's end"] = await endsWithin(async () => valueAt(await ofTask("tasks/get"), "result.status") !== "working");
  const waiting = codexCall(
    { prompt: "!shell touch stateless.txt\n!say done", ...ASKING },
    { headers: { authorization }, params: { requestState, inputResponses: { "approval-1": APPROVED } } },
  );
  done["waiting turn"] = valueAt((await ask(url, waiting)).body, "result.structuredContent.content") === "done";
  using again = await openStream(url, { headers: { ...headers, "last-event-id": "0" } }).catch(() => stream);
  done["stream"] = again.session === estate.session || again === stream;
  await ask(url, { headers, message: { jsonrpc: "2.0", id: questionId, result: APPROVED } });
  await ask(url, { headers, message: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "running" } } });
  done["call's end"] = (await calls.running.end()) === "gracefully";
  done["question's answer"] = valueAt(await calls.asking.answerTo("asking"), "result.structuredContent.content") === "done";
  return done;
}

/** Repeats the question until the answer is yes. */
async function endsWithin(isSo: () => Promise<boolean>, deadlineMs = 10_000): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  while (performance.now() < end) if (await isSo()) return true;
  return false;
}

describe.skipIf(isMissing)("two tenants and an operator on one port", () => {
  it(`${ATTEMPTS} attempts by one tenant to read, write, stop or impersonate the others fail, and do not affect them`, {
    timeout: SCENE_MS,
  }, async () => {
    await using ground = await Ground.open();
    await using victim = await Victim.onPort(ground, {
      engine: "scripted",
      args: ["--wait", "unlimited", "-c", "mcp_server.task_after_seconds=1"],
    });
    const { url } = victim;
    const owners = [await settleIn(ground, url, "bob"), await settleIn(ground, url, "root")];
    const threads = owners.flatMap(({ estate }) => [estate.threads.idle, estate.threads.archived]);
    const before = rollouts(ground, threads);
    const places = { codexHome: ground.codexHome, tokenFile: path.join(ground.root, "keys/tokens"), serverPid: victim.server.process.pid };
    const attempts = inventAttempts(
      new SeededRandom(SEED),
      ATTEMPTS,
      owners.map(({ estate }) => estate),
      places,
    );

    using alice = await Attacker.arrive(ground, url);
    for (let at = 0; at < attempts.length; at += AT_ONCE)
      await Promise.all(attempts.slice(at, at + AT_ONCE).map((attempt) => alice.try(attempt)));

    ground.see("alice's hands", alice.loot.replaceAll(ground.secret("token of alice"), ""));
    expect(ground.leaks().filter((leak) => leak.includes("alice"))).toEqual([]);
    expect(["made-by-bob.txt", "made-by-root.txt", "stateless.txt", "stolen.txt"].filter((name) => ground.has(name))).toEqual([]);
    expect(rollouts(ground, threads)).toBe(before);
    for (const owner of owners) {
      const used = await useEverything(url, owner);
      expect({ [owner.estate.who]: Object.keys(used).filter((kind) => !used[kind]) }).toEqual({ [owner.estate.who]: [] });
      expect(ground.has(`made-by-${owner.estate.who}.txt`)).toBe(true);
      for (const stream of [owner.stream, ...Object.values(owner.calls)]) stream.breakOff();
    }
    await victim.stillAnswers();
  });

  it("a session of one tenant is not reached by its name from another", { timeout: SCENE_MS }, async () => {
    await using ground = await Ground.open();
    await using victim = await Victim.onPort(ground, { engine: "scripted", args: ["--tools", "codex-cli", "--wait", "unlimited"] });
    using bob = await victim.as("bob");
    const name = "the-release";
    await bob.call("codex", { prompt: `!say ${ground.secret("session of bob")}`, sessionId: name });
    expect(ground.leaks()).toContain("session of bob in an answer to bob");
    using alice = await victim.as("alice");
    for (const sessionId of [
      name,
      name.toUpperCase(),
      "bob",
      `bob-${name}`,
      `../bob/${name}`,
      `bob/${name}`,
      `${name}\u0000`,
      `bob%2F${name}`,
    ]) {
      await alice.call("codex", { prompt: "!say stolen", sessionId });
      await alice.call("codex", { prompt: "!say stolen", sessionId, resetSession: true });
    }
    const listed = JSON.stringify(await alice.call("listSessions", {}));
    expect(listed).toContain(name);
    await alice.told();
    expect(ground.leaks().filter((leak) => leak.includes("alice"))).toEqual([]);
    // Alice's sessions with the same name have neither replaced nor extended Bob's.
    const [own] = JSON.stringify(await bob.call("listSessions", {})).match(/turnCount\W+\d+/) ?? [];
    expect(own).toMatch(/\D1$/);
  });
});
