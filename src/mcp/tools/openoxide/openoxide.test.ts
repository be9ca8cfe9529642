import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { MemoryAgent } from "../../../../test/support/memory/memoryAgent.js";
import { MemorySession, type MemorySessionOptions } from "../../../../test/support/memory/memorySession.js";
import { callerNamed } from "../../../../test/support/memory/ownToolsStage.js";
import { isRecord, valueAt } from "../../../../test/support/scenarios/scenario.js";

type Json = Readonly<Record<string, unknown>>;

function open(options: MemorySessionOptions = {}): MemorySession {
  return new MemorySession({ sets: ["openoxide"], ...options });
}

async function call(client: MemorySession, tool: string, args: Json): Promise<Json> {
  const result = await client.call(tool, args);
  if (!isRecord(result)) throw new Error(`no result: ${JSON.stringify(result)}`);
  return result;
}

async function begin(client: MemorySession, prompt: string, more: Json = {}): Promise<string> {
  return String(valueAt(await call(client, "openoxide", { prompt, ...more }), "structuredContent.thread_id"));
}

function itemsOf(agent: MemoryAgent, threadId: string): Promise<string> {
  const ask = { caller: undefined, signal: new AbortController().signal };
  return agent.open.agent.read(ask, threadId as never).then(({ items }) => JSON.stringify(items));
}

it("the list has the design's names", async () => {
  await using client = open();
  const { tools } = (await client.request("tools/list"))["result"] as {
    tools: { name: string; inputSchema: { properties: Json; required: unknown } }[];
  };
  expect(tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties), inputSchema.required])).toEqual([
    ["openoxide", ["prompt", "model", "cwd", "sandbox", "approval_policy", "instructions"], ["prompt"]],
    ["openoxide-reply", ["thread_id", "prompt"], ["thread_id", "prompt"]],
    ["openoxide-query", ["query", "thread_id", "cwd"], ["query"]],
  ]);
});

it("a session begins and continues, and its ids sort by time", async () => {
  await using client = open();
  const result = await call(client, "openoxide", { prompt: "!say hello", instructions: "Be brief." });
  const id = String(valueAt(result, "structuredContent.thread_id"));
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(result).toEqual({
    content: [
      { type: "text", text: "hello" },
      { type: "text", text: `thread_id: ${id}` },
    ],
    structuredContent: { thread_id: id, content: "hello", status: "completed" },
    _meta: { "codex-mcpd/turn": { engine: "scripted" } },
  });
  expect(await itemsOf(client.agent, id)).toContain("Be brief.");
  expect(valueAt(await call(client, "openoxide-reply", { thread_id: id, prompt: "!say on" }), "structuredContent")).toEqual({
    thread_id: id,
    content: "on",
    status: "completed",
  });
});

it("steps are sent as log messages from the start, never as Codex's events", async () => {
  await using client = open({ events: "all" });
  await client.initialize();
  const id = await begin(client, "!shell true\n!say ok");
  expect(client.notified("codex/event")).toEqual([]);
  const told = client.notified("notifications/message");
  expect(told).toContainEqual({
    level: "info",
    logger: "codex",
    data: expect.objectContaining({ message: "command started", text: "Running true" }) as unknown,
    _meta: { requestId: expect.any(Number) as unknown, threadId: id },
  });
  await client.request("logging/setLevel", { level: "error" });
  await begin(client, "!say quiet");
  expect(client.notified("notifications/message")).toHaveLength(told.length);
});

it("questions go to a client that can answer; for others the fallback decides", async () => {
  await using client = open();
  const asked = client.answerQuestions({ action: "accept", content: { decision: "approved" } });
  const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } };
  await client.request("initialize", params);
  const writing = {
    prompt: "!shell touch made\n!say done",
    approval_policy: "untrusted",
    sandbox: "workspace-write",
    cwd: client.agent.folder,
  };
  await call(client, "openoxide", writing);
  expect(asked).toHaveLength(1);
  expect(existsSync(path.join(client.agent.folder, "made"))).toBe(true);
  for (const [approvalFallback, files] of [
    ["auto-within-policy", ["made"]],
    ["deny", []],
  ] as const) {
    await using agent = new MemoryAgent({ approvalFallback });
    await using mute = open({ agent });
    await call(mute, "openoxide", { ...writing, cwd: agent.folder });
    expect(readdirSync(agent.folder).filter((name) => name === "made")).toEqual(files);
  }
});

it("a query changes nothing, with a new thread or a copy of one that may write", async () => {
  await using client = open();
  const cwd = client.agent.folder;
  const id = await begin(client, "!say known", { sandbox: "workspace-write", approval_policy: "never", cwd });
  const alone = await call(client, "openoxide-query", { query: "!shell touch bad\n!say looked", cwd });
  expect(valueAt(alone, "structuredContent.content")).toBe("looked");
  const onThread = await call(client, "openoxide-query", { query: "!shell touch bad\n!say looked", thread_id: id });
  const copy = String(valueAt(onThread, "structuredContent.thread_id"));
  expect(copy).not.toBe(id);
  expect(await itemsOf(client.agent, copy)).toContain("known");
  expect(
    valueAt(await call(client, "openoxide-query", { query: "!shell touch bad\n!say more", thread_id: copy }), "structuredContent"),
  ).toEqual({
    thread_id: copy,
    content: "more",
    status: "completed",
  });
  expect(existsSync(path.join(cwd, "bad"))).toBe(false);
  await call(client, "openoxide-reply", { thread_id: id, prompt: "!shell touch good\n!say wrote" });
  expect(existsSync(path.join(cwd, "good"))).toBe(true);
});

it("an error names the thread, but no tool of another set", async () => {
  await using client = open();
  const failed = await call(client, "openoxide", { prompt: "!status 400" });
  expect(failed).toMatchObject({ isError: true, structuredContent: { status: "failed", thread_id: expect.any(String) as unknown } });
  expect(String(valueAt(failed, "content.0.text"))).toContain("openoxide-reply");
  const missing = "01a1deff-64d2-720b-95d7-1a4692eca0f5";
  const wrong = [
    await call(client, "openoxide-reply", { thread_id: missing, prompt: "x" }),
    await call(client, "openoxide-query", { thread_id: missing, query: "x" }),
    await call(client, "openoxide-reply", { thread_id: "x", prompt: "x" }),
    await call(client, "openoxide", { prompt: "x", threadId: "y" }),
    await call(client, "openoxide", {}),
  ];
  for (const result of [failed, ...wrong]) {
    expect(result["isError"]).toBe(true);
    expect(JSON.stringify(result["content"])).not.toMatch(/codex-(reply|threads|wait)/);
  }
});

it("threads and their forks belong to their principal", async () => {
  await using agent = new MemoryAgent();
  await using alice = open({ agent, parts: { caller: callerNamed("alice") } });
  await using bob = open({ agent, parts: { caller: callerNamed("bob") } });
  const hers = await begin(alice, "!say hers");
  for (const [tool, args] of [
    ["openoxide-reply", { prompt: "!say stolen" }],
    ["openoxide-query", { query: "!say stolen" }],
  ] as const)
    expect(await call(bob, tool, { thread_id: hers, ...args })).toMatchObject({ isError: true });
  expect(await call(alice, "openoxide-query", { thread_id: hers, query: "!say seen" })).not.toHaveProperty("isError");
});
