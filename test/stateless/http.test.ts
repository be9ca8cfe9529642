import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claimMeta, FORMS, TASKS } from "../support/clients/statelessClient.js";
import { eventually } from "../support/eventually.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { codexCall, stateless } from "../support/http/statelessHttp.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";
import { setStage, workspaceFiles } from "../support/stage.js";

/** Calls become tasks after a second. */
const TASKS_SOON = "[mcp_server]\ntask_after_seconds = 1";

const APPROVED = { action: "accept", content: { decision: "approved" } };
const ASKING = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
const DISCOVER = stateless({ method: "server/discover" });

function running(server: HttpServer, command: string): boolean {
  return server.running.started().some(({ commandLine }) => commandLine.includes(command));
}

describe("a request without a session, over HTTP,", () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it.each([
    ["whose version header is missing", stateless({ method: "tools/list", headers: { "mcp-protocol-version": undefined } }), 400, -32020],
    ["whose version header differs", stateless({ method: "tools/list", headers: { "mcp-protocol-version": "2025-11-25" } }), 400, -32020],
    ["whose method header is missing", stateless({ method: "tools/list", headers: { "mcp-method": undefined } }), 400, -32020],
    ["whose method header differs", stateless({ method: "tools/list", headers: { "mcp-method": "tools/call" } }), 400, -32020],
    ["whose name header is missing", codexCall({}, { headers: { "mcp-name": undefined } }), 400, -32020],
    ["whose name header differs", codexCall({}, { headers: { "mcp-name": "codex-reply" } }), 400, -32020],
    [
      "of a version nobody knows",
      stateless({
        method: "tools/list",
        headers: { "mcp-protocol-version": "2040-01-01" },
        meta: { "io.modelcontextprotocol/protocolVersion": "2040-01-01" },
      }),
      400,
      -32022,
    ],
    [
      "that does not say what its client can do",
      stateless({ method: "tools/list", meta: { "io.modelcontextprotocol/clientCapabilities": undefined } }),
      400,
      -32602,
    ],
    ["for a method that was removed", stateless({ method: "ping" }), 404, -32601],
    ["for a tool that does not exist", stateless({ method: "tools/call", params: { name: "grep" } }), 200, -32602],
    ["about tasks by a client that knows none", stateless({ method: "tasks/get", params: { taskId: "x" } }), 400, -32021],
    ["for a task that does not exist", stateless({ method: "tasks/get", params: { taskId: "x" }, capabilities: TASKS }), 200, -32602],
  ])("%s is refused", async (_, question, status, code) => {
    const reply = await server.ask(question);
    expect([reply.status, reply.body]).toEqual([status, { jsonrpc: "2.0", id: 1, error: expect.objectContaining({ code }) }]);
  });
});

describe.concurrent("a request without a session, over HTTP", () => {
  it("is answered with one JSON body, by no session", async () => {
    await using server = await startHttpServer();
    const reply = await server.ask(DISCOVER);
    expect([reply.status, reply.headers["content-type"], reply.session]).toEqual([200, "application/json", undefined]);
    const named = await server.ask(stateless({ method: "tools/list", headers: { "mcp-session-id": "mine" } }));
    expect([named.status, named.session]).toEqual([200, undefined]);
    expect((await server.ask({ path: "/sessions" })).body).toMatchObject({ sessions: [] });
  });

  it("that only its header names gets the name of the missing field", async () => {
    await using server = await startHttpServer();
    const headers = { "mcp-protocol-version": "2026-07-28" };
    const bare = await server.ask({ headers, message: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
    expect([bare.status, bare.body]).toMatchObject([400, { id: 1, error: { code: -32602 } }]);
    const handshake = { protocolVersion: "2026-07-28", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const legacy = await server.ask({ headers, message: { jsonrpc: "2.0", id: 1, method: "initialize", params: handshake } });
    expect(legacy.body).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  });

  it("cannot be part of a batch, and there are no responses to send", async () => {
    await using server = await startHttpServer();
    const batch = await server.ask({ ...DISCOVER, message: [DISCOVER.message] });
    expect([batch.status, batch.body]).toMatchObject([400, { id: null, error: { code: -32600 } }]);
    const response = await server.ask({ ...DISCOVER, message: { jsonrpc: "2.0", id: 1, result: {} } });
    expect([response.status, response.body]).toMatchObject([400, { error: { code: -32600 } }]);
  });

  it("may be a notification, which is accepted without a response", async () => {
    await using server = await startHttpServer();
    const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, _meta: claimMeta() } };
    const reply = await server.ask({ ...DISCOVER, message });
    expect([reply.status, reply.body]).toEqual([202, ""]);
  });

  it("becomes a stream when there is something to say before the result", async () => {
    await using server = await startHttpServer();
    using stream = await server.stream(codexCall({ prompt: "!plan look|answer\n!say hi" }, { meta: { progressToken: 9 } }));
    expect(await stream.answerTo(1)).toMatchObject({ result: { resultType: "complete", structuredContent: { content: "hi" } } });
    expect(await stream.end()).toBe("gracefully");
    expect(stream.headers).toMatchObject({ "cache-control": expect.stringContaining("no-cache"), "x-accel-buffering": "no" });
    // Thinking, and the plan. The message about a short answer would come after the answer and is not sent.
    expect(stream.messages.map(({ method }) => method)).toEqual(["notifications/progress", "notifications/progress", undefined]);
    expect(stream.events.map(({ id }) => id)).toEqual(stream.events.map(() => undefined));
  });

  it("stays one body for a client that accepts nothing else", async () => {
    await using server = await startHttpServer();
    const reply = await server.ask(
      codexCall({ prompt: "!say hi" }, { meta: { progressToken: 9 }, headers: { accept: "application/json" } }),
    );
    expect(reply.body).toMatchObject({ result: { structuredContent: { content: "hi" } } });
  });

  it("gets keep-alive comments if it takes long", async () => {
    await using server = await startHttpServer({ http: "keep_alive_seconds = 1" });
    using stream = await server.stream(codexCall({ prompt: "!hang" }));
    await stream.comment();
    expect(stream.messages).toEqual([]);
  });

  it("is cancelled when its connection closes, and what it started is gone", async () => {
    await using server = await startHttpServer();
    {
      using stream = await server.stream(codexCall({ prompt: "!shell sleep 654" }, { meta: { progressToken: 1 } }));
      await eventually("the command", () => running(server, "sleep 654") || undefined);
      stream.breakOff();
    }
    expect(await eventually("its end", () => !running(server, "sleep 654") || undefined)).toBe(true);
  });

  it("waits for its client after a question, on whichever connection the client returns", async () => {
    await using server = await startHttpServer();
    const { body } = await server.ask(codexCall(ASKING));
    const requestState = valueAt(body, "result.requestState");
    const answer = await server.ask(codexCall(ASKING, { id: 2, params: { requestState, inputResponses: { "approval-1": APPROVED } } }));
    expect(answer.body).toMatchObject({ id: 2, result: { resultType: "complete", structuredContent: { content: "done" } } });
    expect(Object.keys(await workspaceFiles(server.running.stage))).toEqual(["made.txt"]);
  });

  it("that waited for its client when the server ended is over, and the next server says how to continue", async () => {
    await using server = await startHttpServer();
    const { body } = await server.ask(codexCall(ASKING));
    server.running.process.kill("SIGKILL");
    await server.running.exit();
    await using next = await startHttpServer({ stage: server.running.stage });
    const again = await next.ask(codexCall(ASKING, { params: { requestState: valueAt(body, "result.requestState") } }));
    expect(again.body).toMatchObject({ error: { code: -32602, message: expect.stringContaining("restarted") } });
  });
});

describe.concurrent("principals", () => {
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  const [ada, bob] = [as("ada-token-0123456789ab"), as("bob-token-0123456789ab")];

  it("have nothing of each other: no turn that waits, no task, no thread", async () => {
    await using stage = await setStage();
    const tokens = path.join(stage.root, "tokens");
    await writeFile(tokens, "ada ada-token-0123456789ab\nbob bob-token-0123456789ab\n", { mode: 0o600 });
    await using server = await startHttpServer({ stage, args: ["--token-file", tokens] });
    const { body } = await server.ask(codexCall(ASKING, { headers: ada }));
    const params = { requestState: valueAt(body, "result.requestState"), inputResponses: { "approval-1": APPROVED } };
    expect((await server.ask(codexCall(ASKING, { headers: bob, params }))).body).toMatchObject({ error: { code: -32602 } });
    const capabilities = { ...FORMS, ...TASKS };
    const task = await server.ask(codexCall(ASKING, { headers: ada, capabilities }));
    const taskId = String(valueAt(task.body, "result.taskId"));
    for (const method of ["tasks/get", "tasks/cancel"]) {
      const question = { method, params: { taskId }, capabilities };
      expect((await server.ask(stateless({ ...question, headers: bob }))).body).toMatchObject({ error: { code: -32602 } });
    }
    const done = await server.ask(codexCall(ASKING, { headers: ada, params }));
    const threadId = valueAt(done.body, "result.structuredContent.threadId");
    const reply = (headers: Record<string, string>) =>
      server.ask(stateless({ method: "tools/call", headers, params: { name: "codex-reply", arguments: { threadId, prompt: "!say on" } } }));
    expect((await reply(bob)).body).toMatchObject({ result: { isError: true } });
    expect((await reply(ada)).body).toMatchObject({ result: { structuredContent: { content: "on" } } });
  });
});

describe.concurrent("tasks, over HTTP", () => {
  const capabilities = { ...FORMS, ...TASKS };
  const get = (taskId: unknown) => stateless({ method: "tasks/get", params: { taskId }, capabilities });

  const untilAsked = async (server: HttpServer, taskId: unknown) => {
    for (;;) {
      const { body } = await server.ask(get(taskId));
      if (valueAt(body, "result.status") === "input_required") return;
    }
  };

  it("outlive their server: a finished task keeps its result, and one that was killed with the server says so", async () => {
    await using server = await startHttpServer({ config: TASKS_SOON });
    const [asking, hanging] = await Promise.all([
      server.ask(codexCall({ ...ASKING, prompt: "!shell touch made.txt\n!say finished" }, { capabilities })),
      server.ask(codexCall({ prompt: "!hang" }, { capabilities, id: 2 })),
    ]);
    const [first, second] = [valueAt(asking.body, "result.taskId"), valueAt(hanging.body, "result.taskId")];
    await untilAsked(server, first);
    await server.ask(
      stateless({ method: "tasks/update", params: { taskId: first, inputResponses: { "approval-1": APPROVED } }, capabilities }),
    );
    using changes = await server.stream(
      stateless({ method: "subscriptions/listen", id: "s", capabilities, params: { notifications: { taskIds: [first] } } }),
    );
    await changes.message("the end", ({ params }) => valueAt(params, "status") === "completed");
    server.running.process.kill("SIGKILL");
    await server.running.exit();
    await using next = await startHttpServer({ stage: server.running.stage });
    expect((await next.ask(get(first))).body).toMatchObject({
      result: { status: "completed", result: { structuredContent: { content: "finished" } } },
    });
    const lost = (await next.ask(get(second))).body;
    expect(lost).toMatchObject({ result: { status: "completed", result: { isError: true } } });
    const threadId = String(valueAt(lost, "result.result.structuredContent.threadId"));
    expect(valueAt(lost, "result.result.content.0.text")).toContain(threadId);
    const reply = { name: "codex-reply", arguments: { threadId, prompt: "!say on" } };
    expect((await next.ask(stateless({ method: "tools/call", params: reply }))).body).toMatchObject({
      result: { structuredContent: { content: "on" } },
    });
  });

  it("are interrupted when the server is told to end, and listeners end with a result", async () => {
    await using server = await startHttpServer({ config: TASKS_SOON, http: "shutdown_grace_seconds = 0.2" });
    const { body } = await server.ask(codexCall({ prompt: "!hang" }, { capabilities }));
    const taskId = valueAt(body, "result.taskId");
    using changes = await server.stream(
      stateless({ method: "subscriptions/listen", id: "s", capabilities, params: { notifications: { taskIds: [taskId] } } }),
    );
    using socket = await openSocket(server.origin);
    socket.send({
      jsonrpc: "2.0",
      id: 5,
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true }, _meta: claimMeta() },
    });
    await socket.message("acknowledgement", ({ method }) => method === "notifications/subscriptions/acknowledged");
    server.running.process.kill("SIGTERM");
    expect(await changes.answerTo("s")).toMatchObject({ result: { resultType: "complete" } });
    expect(await changes.end()).toBe("gracefully");
    expect(await socket.answerTo(5)).toMatchObject({ result: { resultType: "complete" } });
    expect(await server.running.exit()).toEqual({ code: 0, signal: null });
    await using next = await startHttpServer({ stage: server.running.stage });
    const later = (await next.ask(get(taskId))).body;
    expect(isRecord(later) && later["result"]).toMatchObject({ status: "completed", result: { isError: true } });
  });
});

it("a WebSocket that closes cancels the requests that stand for themselves", async () => {
  await using server = await startHttpServer();
  {
    using socket = await openSocket(server.origin);
    socket.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "codex", arguments: { prompt: "!shell sleep 655" }, _meta: claimMeta() },
    });
    await eventually("the command", () => running(server, "sleep 655") || undefined);
  }
  expect(await eventually("its end", () => !running(server, "sleep 655") || undefined)).toBe(true);
});
