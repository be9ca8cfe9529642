import { afterAll, beforeAll, expect, it } from "vitest";
import type { ItemPage } from "../../src/api/schemas/items.js";
import { RawSocket } from "../support/http/httpRawSocket.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({ http: "slow_reader_seconds = 0.5" });
});
afterAll(() => server[Symbol.asyncDispose]());

async function api(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${server.origin}/api/v1${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}

async function start(prompt: string, more: object = {}): Promise<string> {
  const { body } = await api("POST", "/threads", { prompt, cwd: server.running.stage.workspace, ...more });
  return String(valueAt(body, "thread.id"));
}

/** The types of the events, up to and including the last one. */
async function typesUntil(path: string, last: string, begun?: () => Promise<unknown>): Promise<readonly string[]> {
  const gone = new AbortController();
  const answer = await fetch(`${server.origin}/api/v1${path}`, { signal: gone.signal });
  await begun?.();
  const types: string[] = [];
  for await (const chunk of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()))
    for (const [, type = ""] of chunk.matchAll(/^event: (.*)$/gm)) {
      types.push(type);
      if (type !== last) continue;
      gone.abort();
      return types;
    }
  return types;
}

it("one of many simultaneous answers decides, and all others learn the decision", async () => {
  const threadId = await start("!shell touch made\n!say done", { sandbox: "workspace-write", approvalPolicy: "untrusted" });
  let approvalId: unknown;
  while (typeof approvalId !== "string") approvalId = valueAt((await api("GET", `/approvals?threadId=${threadId}`)).body, "approvals.0.id");
  const decisions = ["approve", "deny", "approve", "deny", "approve", "deny", "abort", "deny"];
  const answers = await Promise.all(decisions.map((decision) => api("POST", `/approvals/${approvalId}/answer`, { decision })));
  const first = answers.find(({ status }) => status === 200);
  const decided = valueAt(first?.body, "settlement.decision");
  const others = answers.filter((answer) => answer !== first);
  expect(others.map(({ status, body }) => [status, valueAt(body, "settlement.decision")])).toEqual(others.map(() => [409, decided]));
  expect(valueAt((await api("GET", `/approvals/${approvalId}`)).body, "settlement.decision")).toBe(decided);
});

it("a watched thread reports when it is archived, and is gone once it is removed", async () => {
  const threadId = await start("!say done", { wait: 30 });
  const types = await typesUntil(`/threads/${threadId}/events?types=thread.changed,turn.started`, "thread.changed", () =>
    api("PATCH", `/threads/${threadId}`, { archived: true }),
  );
  expect(types).toEqual(["hello", "thread.changed"]);
  expect((await api("GET", `/threads/${threadId}`)).body).toMatchObject({ archived: true });
  expect((await api("DELETE", `/threads/${threadId}`)).status).toBe(204);
  expect((await api("GET", `/threads/${threadId}/events`)).body).toMatchObject({ code: "thread_not_found" });
});

it("a client that asks for dropped events is told to read again, and then misses nothing", async () => {
  const threadId = await start("!say one", { wait: 30 });
  const { eventsAfter } = (await api("GET", `/threads/${threadId}/items`)).body as ItemPage;
  // The id of the same event in an earlier process.
  const old = eventsAfter.replace(/^[^-.]+/, "00000000");
  const more = () => api("POST", `/threads/${threadId}/turns`, { prompt: "!say two" });
  const types = await typesUntil(`/threads/${threadId}/events?after=${old}`, "turn.ended", more);
  expect(types.slice(0, 2)).toEqual(["hello", "reset"]);
  expect(types.filter((type) => type === "turn.ended")).toHaveLength(1);
});

it("an answer of a megabyte is cut in pages, and complete when it is read alone", async () => {
  const words = 170_000;
  const threadId = await start(`!tokens ${words}`, { wait: 120 });
  const { items } = (await api("GET", `/threads/${threadId}/items`)).body as ItemPage;
  const message = items.find(({ type }) => type === "agentMessage");
  if (message?.type !== "agentMessage") throw new Error("there is no answer");
  expect([message.truncated, message.text.length <= 64 * 1024]).toEqual([true, true]);
  const { body } = await api("GET", `/threads/${threadId}/items/${message.id}`);
  expect(String(valueAt(body, "text")).split(" ").length).toBeGreaterThanOrEqual(words);
});

it("a client that does not read events is disconnected, and continues after its last one", async () => {
  const threadId = await start("!say begun", { wait: 30, approvalPolicy: "never" });
  using socket = await RawSocket.open(server.port);
  socket.say(`GET /api/v1/threads/${threadId}/events HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
  await socket.heard("event: hello");
  socket.stopReading();
  // The events need many times the socket buffers of both ends.
  const prompt = `${"!shell head -c 1000000 /dev/zero | tr '\\0' x\n".repeat(20)}!say done`;
  const flood = await api("POST", `/threads/${threadId}/turns`, { prompt, wait: 50 });
  expect(flood.body).toMatchObject({ turn: { status: "completed" } });
  // Other callers are served at the same time.
  expect((await api("GET", `/threads/${threadId}`)).status).toBe(200);
  // A reader that goes on in time would keep its stream.
  await expect.poll(() => metric("readers_disconnected_total"), { timeout: 30_000 }).toBe(1);
  socket.goOnReading();
  const heard = await socket.untilClosed();
  expect(heard).not.toContain("event: turn.ended");
  const last =
    heard
      .match(/^id: .*$/gm)
      ?.at(-2)
      ?.slice("id: ".length) ?? "";
  const types = await typesUntil(`/threads/${threadId}/events?after=${last}`, "turn.ended");
  expect(types[0]).toBe("hello");
  expect(types.filter((type) => type === "turn.ended")).toHaveLength(1);
  // The final answer is complete, even if some of its deltas are no longer kept.
  expect(types.some((type) => type === "item.completed" || type === "reset")).toBe(true);
});

it("500 event streams receive the end of every turn", async () => {
  const gone = new AbortController();
  const [streams, turns] = [500, 5];
  const opened = Array.from({ length: streams }, () => fetch(`${server.origin}/api/v1/events?types=turn.ended`, { signal: gone.signal }));
  const answers = await Promise.all(opened);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await metric("streams_open")).toBe(streams);
  const heard = answers.map(async ({ body }) => {
    let ends = 0;
    for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      ends += chunk.match(/^event: turn\.ended$/gm)?.length ?? 0;
      if (ends >= turns) return ends;
    }
    return ends;
  });
  await Promise.all(Array.from({ length: turns }, () => start("!say x", { wait: 30 })));
  expect(await Promise.all(heard)).toEqual(Array.from({ length: streams }, () => turns));
  gone.abort();
  await expect.poll(() => metric("streams_open")).toBe(0);
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.origin}/metrics`)).text();
  return Number(new RegExp(`^codex_mcp_${name}(?:{[^}]*})? (\\d+)$`, "m").exec(text)?.[1]);
}
