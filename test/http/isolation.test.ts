import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completed } from "../support/callResults.js";
import { handshake, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { ALICE, BOB, type Headers, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage, workspaceFiles } from "../support/stage.js";

let stage: Stage;
let server: HttpServer;
beforeAll(async () => {
  stage = await setStage();
  server = await startHttpServer({ stage, args: await threePrincipals(stage) });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

/** A session whose client can be asked. */
async function openSession(who: Headers): Promise<Headers> {
  const { session = "" } = await server.ask({ headers: who, message: handshake(0, { capabilities: { elicitation: {} } }) });
  return { ...who, "mcp-session-id": session };
}

async function call(headers: Headers, args: Readonly<Record<string, unknown>>, tool = "codex"): Promise<unknown> {
  const { body } = await server.ask({ headers, message: toolCall("call", args, tool) });
  return valueAt(body, "result");
}

async function newThread(headers: Headers): Promise<string> {
  return String(valueAt(await call(headers, { prompt: "!say mine" }), "structuredContent.threadId"));
}

const noThread = (threadId: string) =>
  expect.objectContaining({ isError: true, content: [{ type: "text", text: expect.stringContaining(threadId) as unknown }] });

describe.concurrent("two sessions of one server", () => {
  it.each([
    ["the same principal", ALICE, ALICE],
    ["two principals", ALICE, BOB],
  ])("of %s do not see each other's events, answers and questions", async (_, first, second) => {
    const one = await openSession(first);
    const two = await openSession(second);
    using streamOne = await server.stream({ headers: one });
    using streamTwo = await server.stream({ headers: two });
    const asking = { prompt: "!shell touch never.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
    const pending = call(one, asking);
    const question = await streamOne.question();
    await call(two, { prompt: "!say two" });
    await streamTwo.answerTo("call");
    // The other session's answer with the same request id decides nothing here.
    await server.ask({ headers: two, message: { jsonrpc: "2.0", id: question["id"], result: { decision: "approved" } } });
    await server.ask({ headers: one, message: { jsonrpc: "2.0", id: question["id"], result: { decision: "denied" } } });
    expect(await pending).toMatchObject({ structuredContent: { content: "done" } });
    await streamOne.answerTo("call");
    expect(await workspaceFiles(stage)).not.toHaveProperty("never.txt");
    const threads = (stream: typeof streamOne) =>
      new Set(
        stream.messages
          .map((message) => valueAt(message, "params._meta.threadId") ?? valueAt(message, "result.structuredContent.threadId"))
          .filter((id) => id !== undefined),
      );
    expect(threads(streamOne).size).toBe(1);
    expect(threads(streamTwo).size).toBe(1);
    expect(threads(streamOne)).not.toEqual(threads(streamTwo));
    expect(streamTwo.messages.filter(({ method }) => method === "elicitation/create")).toEqual([]);
  });

  it("may use the same request ids at the same time, and each gets its own answer", async () => {
    const sessions = await Promise.all([ALICE, ALICE, BOB].map(openSession));
    const answers = await Promise.all(sessions.map((headers, at) => call(headers, { prompt: `!delay 100\n!say answer ${at}` })));
    expect(answers.map((answer) => valueAt(answer, "structuredContent.content"))).toEqual(["answer 0", "answer 1", "answer 2"]);
  });

  it("cancel only their own calls", async () => {
    const one = await openSession(ALICE);
    const two = await openSession(ALICE);
    using streamOne = await server.stream({ headers: one });
    const pending = call(one, { prompt: "!slow 20 20" });
    await streamOne.step("agent_message_delta");
    await server.ask({ headers: two, message: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "call" } } });
    expect(valueAt(await pending, "isError")).toBeUndefined();
  });

  it("keep their own log level and handshake", async () => {
    const one = await openSession(ALICE);
    const two = await openSession(ALICE);
    await server.ask({ headers: one, message: rpc(1, "logging/setLevel", { level: "debug" }) });
    using streamOne = await server.stream({ headers: one });
    using streamTwo = await server.stream({ headers: two });
    for (const headers of [one, two]) await call(headers, { prompt: "!plan look|answer" });
    await streamOne.answerTo("call");
    await streamTwo.answerTo("call");
    const logs = (stream: typeof streamOne) => stream.messages.filter(({ method }) => method === "notifications/message").length;
    expect([logs(streamOne) > 0, logs(streamTwo)]).toEqual([true, 0]);
  });

  it("run their commands in the folder and sandbox of each call", async () => {
    const one = await openSession(ALICE);
    const two = await openSession(ALICE);
    const writing = (sandbox: string, name: string) => ({ prompt: `!shell touch ${name}`, sandbox, "approval-policy": "never" });
    await Promise.all([call(one, writing("read-only", "from-one.txt")), call(two, writing("workspace-write", "from-two.txt"))]);
    const files = await workspaceFiles(stage);
    expect([files["from-one.txt"], files["from-two.txt"]]).toEqual([undefined, ""]);
  });
});

describe.concurrent("a thread", () => {
  it("belongs to the session that started it until that ends; others get ThreadNotFound", async () => {
    const owner = await openSession(ALICE);
    const threadId = await newThread(owner);
    for (const other of [await openSession(ALICE), await openSession(BOB), await openSession(OPERATOR)])
      expect(await call(other, { threadId, prompt: "!say stolen" }, "codex-reply")).toEqual(noThread(threadId));
    expect(await call(owner, { threadId, prompt: "!say mine" }, "codex-reply")).toEqual(completed(threadId, "mine"));
  });

  it("whose session is over is continued only by the same principal", async () => {
    const owner = await openSession(ALICE);
    const threadId = await newThread(owner);
    await server.ask({ method: "DELETE", headers: owner });
    expect(await call(await openSession(BOB), { threadId, prompt: "!say stolen" }, "codex-reply")).toEqual(noThread(threadId));
    expect(await call(await openSession(ALICE), { threadId, prompt: "!say on" }, "codex-reply")).toEqual(completed(threadId, "on"));
  });

  it("whose session has no client is continued only by the same principal", async () => {
    await using hasty = await startHttpServer({ stage, args: await threePrincipals(stage), http: "attended_seconds = 0" });
    const open = async (who: Headers) => {
      const { session = "" } = await hasty.ask({ headers: who, message: handshake(0) });
      return { ...who, "mcp-session-id": session };
    };
    const reply = async (headers: Headers, threadId: string) => {
      const { body } = await hasty.ask({ headers, message: toolCall("call", { threadId, prompt: "!say on" }, "codex-reply") });
      return valueAt(body, "result");
    };
    const owner = await open(ALICE);
    const { body } = await hasty.ask({ headers: owner, message: toolCall("call", { prompt: "!say mine" }) });
    const threadId = String(valueAt(body, "result.structuredContent.threadId"));
    const [next, bob] = [await open(ALICE), await open(BOB)];
    using stream = await hasty.stream({ headers: owner });
    expect([await reply(next, threadId), await reply(bob, threadId)]).toEqual([noThread(threadId), noThread(threadId)]);
    stream[Symbol.dispose]();
    // The server notices the end of the stream a moment later.
    let continued = await reply(next, threadId);
    while (valueAt(continued, "isError") === true) continued = await reply(next, threadId);
    expect([continued, await reply(bob, threadId)]).toEqual([completed(threadId, "on"), noThread(threadId)]);
  });

  it("of another principal looks like one that does not exist", async () => {
    const threadId = await newThread(await openSession(ALICE));
    const bob = await openSession(BOB);
    const absent = "01234567-89ab-7def-8123-456789abcdef";
    const told = async (id: string) =>
      JSON.stringify(await call(bob, { threadId: id, prompt: "!say x" }, "codex-reply")).replaceAll(id, "ID");
    expect(await told(threadId)).toBe(await told(absent));
  });

  it("that was started on stdio is not reachable over the network", async () => {
    await using onStdio = await startServer({ stage });
    const threadId = String(valueAt(await onStdio.call("codex", { prompt: "!say mine" }).result(), "structuredContent.threadId"));
    expect(await call(await openSession(ALICE), { threadId, prompt: "!say stolen" }, "codex-reply")).toEqual(noThread(threadId));
  });
});

describe.concurrent("the id of another principal's session", () => {
  it("is not found by any request", async () => {
    const alice = await openSession(ALICE);
    const id = alice["mcp-session-id"] ?? "";
    const asBob = { ...BOB, "mcp-session-id": id };
    const notFound = { status: 404, body: { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } } };
    expect(await server.ask({ headers: asBob, message: rpc(1, "ping") })).toMatchObject(notFound);
    expect(await server.ask({ headers: { ...asBob, ...SPEC }, message: handshake(1) })).toMatchObject(notFound);
    expect(await server.ask({ headers: asBob })).toMatchObject(notFound);
    expect(await server.ask({ method: "DELETE", headers: asBob })).toMatchObject(notFound);
    await expect(openSocket(server.origin, { headers: asBob })).rejects.toMatchObject({ status: 404 });
    expect((await server.ask({ headers: alice, message: rpc(1, "ping") })).status).toBe(200);
  });

  it("of a WebSocket is not found either", async () => {
    using socket = await openSocket(server.origin, { headers: ALICE });
    const place = { "mcp-session-id": socket.session, "last-event-id": "0" };
    await expect(openSocket(server.origin, { headers: { ...BOB, ...place } })).rejects.toMatchObject({ status: 404 });
    socket.send(rpc(1, "ping"));
    await socket.answerTo(1);
  });
});

describe.concurrent("an event id", () => {
  it("of another session is refused, and nothing about that session is revealed", async () => {
    const one = await openSession(ALICE);
    const two = await openSession(ALICE);
    using streamOne = await server.stream({ headers: one });
    await call(one, { prompt: "!say secret" });
    await streamOne.answerTo("call");
    const first = streamOne.events[0]?.id ?? "";
    for (const headers of [two, { ...two, ...SPEC_LATER }])
      expect(await server.ask({ headers: { ...headers, "last-event-id": first } })).toMatchObject({
        status: 400,
        body: { error: { code: -32000, message: "Last-Event-ID is not an id of this session" } },
      });
    for (const made of ["", "0", `${first}9999`, first.replace(/^.{8}/, "00000000"), "../../etc"])
      expect((await server.ask({ headers: { ...one, "last-event-id": made } })).status).toBe(400);
  });
});

describe.concurrent("/sessions and /metrics", () => {
  it("need a token; a principal sees its own sessions only, an operator all", async () => {
    const alice = await openSession(ALICE);
    const bob = await openSession(BOB);
    const ids = async (headers: Headers) => {
      const { body } = await server.ask({ path: "/sessions", headers });
      return (body as { sessions: { id: string }[] }).sessions.map(({ id }) => id);
    };
    const [a = "", b = ""] = [alice["mcp-session-id"], bob["mcp-session-id"]];
    expect(await ids(ALICE)).toContain(a);
    expect(await ids(ALICE)).not.toContain(b);
    expect(await ids(OPERATOR)).toEqual(expect.arrayContaining([a, b]));
    for (const page of ["/sessions", "/metrics"]) expect((await server.ask({ path: page })).status).toBe(401);
    for (const page of ["/healthz", "/readyz"]) expect((await server.ask({ path: page })).status).toBe(200);
  });

  it.each(["/sessions", "/metrics"])("%s is not kept by caches, and nothing else than its type is seen in it", async (page) => {
    const { headers } = await server.ask({ path: page, headers: ALICE });
    expect([headers["cache-control"], headers["x-content-type-options"]]).toEqual(["no-store", "nosniff"]);
  });
});
