import { describe, expect, it } from "vitest";
import { completed, unknownTool } from "../support/callResults.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";
import { spokenOn } from "../support/threads/storedThread.js";

const PING_OK = { id: "ping", jsonrpc: "2.0", result: {} };

describe.concurrent("a cancelled call", () => {
  it("is not answered, its turn ends, and the thread can continue at once", async () => {
    await using server = await startServer();
    const call = server.call("codex", { prompt: "!slow 1000 20" });
    await call.event("agent_message_delta");
    const threadId = await call.threadId();
    server.cancel(call.id);
    expect(await call.event("turn_aborted")).toMatchObject({ type: "turn_aborted", reason: "interrupted" });
    const reply = server.call("codex-reply", { threadId, prompt: "!say going on" });
    expect(await reply.result()).toEqual(completed(threadId, "going on"));
    await server.closeAndWait();
    expect(server.answersTo(call.id)).toEqual([]);
    expect(call.events.at(-1)).toMatchObject({ type: "turn_aborted", reason: "interrupted" });
  });

  it("right after it was sent is stopped as well, and its thread continues with its context, here and after a restart", async () => {
    await using stage = await setStage();
    await using model = await startResponsesServer();
    const start = { stage, args: ["--engine", "native"], config: mockProvider(model.url) };
    await using server = await startServer(start);
    const call = server.call("codex", { prompt: "!hang" });
    server.cancel(call.id);
    await call.event("turn_aborted");
    const threadId = await call.threadId();
    expect(await server.call("codex-reply", { threadId, prompt: "!say one" }).result()).toEqual(completed(threadId, "one", "native"));
    await server.closeAndWait();
    expect(server.answersTo(call.id)).toEqual([]);
    await using second = await startServer(start);
    expect(await second.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(completed(threadId, "two", "native"));
    expect(model.requests.at(-1)?.body.input.slice(0, 2)).toMatchObject([
      { role: "developer" },
      { content: [{ text: expect.stringContaining("<environment_context>") }] },
    ]);
  });

  it("does not affect other calls, nor similar ids", async () => {
    await using server = await startServer();
    const doomed = server.call("codex", { prompt: "!hang" }, { id: "7" });
    const other = server.call("codex", { prompt: "!slow 20 20" }, { id: 7 });
    await doomed.event("user_message");
    await other.event("agent_message_delta");
    server.cancel("7");
    server.cancel("nobody");
    await doomed.event("turn_aborted");
    expect(await other.result()).toMatchObject({ structuredContent: { threadId: await other.threadId() } });
    expect(server.answersTo("7")).toEqual([]);
  });
});

describe.concurrent("replies to a thread whose turn runs", () => {
  it("wait for it, and each gets the answer of its own turn", async () => {
    await using server = await startServer();
    const first = server.call("codex", { prompt: "!slow 20 20" });
    await first.event("agent_message_delta");
    const threadId = await first.threadId();
    const replies = ["two", "three", "four"].map((word) => server.call("codex-reply", { threadId, prompt: `!say ${word}` }));
    const words = Array.from({ length: 20 }, (_, word) => `w${word} `).join("");
    expect(await first.result()).toEqual(completed(threadId, words));
    expect(await Promise.all(replies.map((reply) => reply.result()))).toEqual(
      ["two", "three", "four"].map((word) => completed(threadId, word)),
    );
    for (const { events } of replies) expect(events.filter(({ type }) => type === "task_complete")).toHaveLength(1);
    expect(spokenOn(server.stage, threadId)).toEqual([
      "user: !slow 20 20",
      `assistant: ${words}`,
      ...["two", "three", "four"].flatMap((word) => [`user: !say ${word}`, `assistant: ${word}`]),
    ]);
  });

  it("can be cancelled while they wait", async () => {
    await using server = await startServer();
    const running = server.call("codex", { prompt: "!hang" });
    const threadId = await running.threadId();
    const waiting = server.call("codex-reply", { threadId, prompt: "!say never" });
    server.cancel(waiting.id);
    server.cancel(running.id);
    await waiting.event("turn_aborted");
    expect(await server.call("codex-reply", { threadId, prompt: "!say on" }).result()).toEqual(completed(threadId, "on"));
    expect(spokenOn(server.stage, threadId)).toEqual(["user: !hang", "user: !say on", "assistant: on"]);
  });
});

describe.concurrent("a request that cannot be served gets an answer", () => {
  it("when its id is already in flight; the first one is not disturbed", async () => {
    await using server = await startServer();
    const call = server.call("codex", { prompt: "!slow 100 20" }, { id: "same" });
    await call.event("agent_message_delta");
    server.send({ jsonrpc: "2.0", id: "same", method: "ping" });
    expect(await server.answer("same", 1)).toEqual({
      id: "same",
      jsonrpc: "2.0",
      error: { code: -32600, message: "a request with this id is already in flight" },
    });
    expect(await server.answer("same", 2)).toMatchObject({ result: { structuredContent: { threadId: await call.threadId() } } });
  });

  it.each([
    ["an unknown method", { id: "asked", method: "foo/bar" }, -32601],
    ["a method the server does not offer", { id: "asked", method: "resources/list" }, -32601],
    ["a call without a name", { id: "asked", method: "tools/call", params: {} }, -32602],
    ["a handshake without params", { id: "asked", method: "initialize" }, -32602],
    ["an unknown log level", { id: "asked", method: "logging/setLevel", params: { level: "loud" } }, -32602],
  ])("when it is %s", async (_, request, code) => {
    await using server = await startServer();
    server.send({ jsonrpc: "2.0", ...request });
    expect(await server.answer("asked")).toEqual({ id: "asked", jsonrpc: "2.0", error: expect.objectContaining({ code }) });
    expect(await server.request("ping")).toEqual({});
  });

  it("when it is not JSON but begins like a message, with a line on stderr", async () => {
    await using server = await startServer();
    server.write('{"jsonrpc": "2.0", "id": 1, oops\n');
    expect(await server.answer(null)).toEqual({ id: null, jsonrpc: "2.0", error: expect.objectContaining({ code: -32700 }) });
    expect(await server.request("ping")).toEqual({});
    expect(server.errorLines.filter((line) => line.includes("ignored a message"))).toHaveLength(1);
  });

  it("and noise between messages gets none", async () => {
    await using server = await startServer();
    server.write('\n   \nhello\nnull\n5\n"text"\nContent-Length: 44\r\n\r\n{"jsonrpc":"2.0","id":"ping","method":"ping"}\r\n');
    expect(await server.answer("ping")).toEqual(PING_OK);
    expect([server.notifications, server.answersTo(null)]).toEqual([[], []]);
  });

  it("even if its bytes arrive in two parts, split within a character", async () => {
    await using server = await startServer();
    const params = { name: "codex", arguments: { prompt: "!say žluťoučký 🐎 kůň" } };
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: "asked", method: "tools/call", params })}\n`);
    const cut = bytes.indexOf("🐎") + 2;
    server.write(bytes.subarray(0, cut));
    await server.process.waitForQuiet(50);
    server.write(bytes.subarray(cut));
    expect(await server.answer("asked")).toMatchObject({ result: { structuredContent: { content: "žluťoučký 🐎 kůň" } } });
  });

  it("from a tool that does not exist", async () => {
    await using server = await startServer();
    expect(await server.request("tools/call", { name: "nope", arguments: {} })).toEqual(unknownTool("nope"));
  });
});

describe.concurrent("a client that asks for them gets", () => {
  it("progress, readable and counting up, under its token", async () => {
    await using server = await startServer();
    const call = server.call("codex", { prompt: "!think about it\n!plan look|answer\n!say done" }, { meta: { progressToken: "tok" } });
    await call.result();
    const _meta = { requestId: call.id, threadId: await call.threadId() };
    const messages = [`Thread ${_meta.threadId}: Thinking`, "Plan: look", "Thinking"];
    expect(server.notifications.filter(({ method }) => method === "notifications/progress")).toEqual(
      messages.map((message, index) => ({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "tok", progress: index + 1, message, _meta },
      })),
    );
  });

  it("log messages from the level it set, and none before", async () => {
    await using server = await startServer();
    await server.call("codex", { prompt: "!say quiet" }).result();
    expect(server.notifications).toEqual([]);
    expect(await server.request("logging/setLevel", { level: "error" })).toEqual({});
    const call = server.call("codex", { prompt: "!status 403 no" });
    await call.result();
    expect(server.notifications).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/message",
        params: {
          level: "error",
          logger: "codex",
          data: { message: "turn failed", cause: expect.stringContaining("403 Forbidden"), threadId: await call.threadId() },
          _meta: { requestId: call.id, threadId: await call.threadId() },
        },
      },
    ]);
  });

  it("the thread's id in a text, when its revision has no structured content", async () => {
    await using server = await startServer();
    await server.initialize("2024-11-05");
    const call = server.call("codex", { prompt: "!say hi" });
    expect(await call.result()).toMatchObject({
      content: [{ text: "hi" }, { text: expect.stringContaining(`threadId: ${await call.threadId()}`) as unknown }],
    });
  });
});
