import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { completed } from "../support/callResults.js";
import { handshake, rpc, SPEC, stepsIn, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage } from "../support/stage.js";

/** A client that has shaken hands. */
async function greet(server: HttpServer): Promise<Readonly<Record<string, string>>> {
  const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
  return { ...SPEC, "mcp-protocol-version": "2025-11-25", "mcp-session-id": session };
}

async function killed(server: HttpServer): Promise<void> {
  server.running.process.kill("SIGKILL");
  await server.running.process.waitForEnd(10_000);
}

describe("a client whose server was killed in the middle of a call", () => {
  it("learns at once that the call is over, and continues its thread", async () => {
    await using stage = await setStage();
    await using first = await startHttpServer({ stage });
    const own = await greet(first);
    using calling = await first.stream({ headers: own, message: toolCall("the call", { prompt: "!hang" }) });
    const threadId = String(valueAt(await calling.step("task_started"), "params._meta.threadId"));
    const { lastEventId } = calling;
    await killed(first);

    await using second = await startHttpServer({ stage });
    using back = await second.stream({ headers: { ...own, "last-event-id": lastEventId } });
    expect(await back.answerTo("the call")).toMatchObject({ result: { isError: true, structuredContent: { threadId } } });
    expect(await back.end()).toBe("gracefully");
    // The session itself must be opened again.
    expect((await second.ask({ headers: own, message: rpc(1, "tools/list") })).status).toBe(404);
    const { body } = await second.ask({ message: toolCall(2, { threadId, prompt: "!say on" }, "codex-reply") });
    expect(valueAt(body, "result")).toEqual(completed(threadId, "on"));
  });

  it("learns it on a WebSocket too, for each of its calls", async () => {
    await using stage = await setStage();
    await using first = await startHttpServer({ stage });
    using socket = await openSocket(first.origin);
    socket.send(handshake(0));
    await socket.answerTo(0);
    for (const id of ["one", "two"]) socket.send(toolCall(id, { prompt: "!hang" }));
    const threads = await socket.wait("both turns", () => {
      const begun = socket.messages.filter((message) => stepsIn([message])[0] === "task_started");
      return begun.length === 2 ? begun.map((message) => String(valueAt(message, "params._meta.threadId"))) : undefined;
    });
    socket.send(toolCall("three", { prompt: "!say done" }));
    await socket.answerTo("three");
    const own = { "mcp-session-id": socket.session, "last-event-id": socket.lastId };
    await killed(first);

    await using second = await startHttpServer({ stage });
    using back = await openSocket(second.origin, { headers: own });
    expect(await back.close()).toEqual({ code: 1000, reason: "the session is over" });
    const answers = back.messages.map((message) => [message["id"], valueAt(message, "result.isError")]);
    expect(answers).toEqual(
      expect.arrayContaining([
        ["one", true],
        ["two", true],
      ]),
    );
    expect(answers.length).toBe(2);
    expect(new Set(back.messages.map((message) => valueAt(message, "result.structuredContent.threadId")))).toEqual(new Set(threads));
    // A number alone continues no call.
    await expect(openSocket(second.origin, { headers: { ...own, "last-event-id": "5" } })).rejects.toMatchObject({ status: 404 });
  });

  it("gets no answer for the calls of others, or for other requests", async () => {
    await using server = await startHttpServer();
    const own = await greet(server);
    const gone = { ...own, "mcp-session-id": "11111111-2222-4333-8444-555555555555" };
    for (const eventId of ["0123abcd.p1.5", "0123abcd.g1.5", "nonsense", ""])
      expect((await server.ask({ headers: { ...gone, "last-event-id": eventId } })).status).toBe(404);
  });

  it("and which uses the official library has its answer before its own time limit", async () => {
    await using stage = await setStage();
    const first = await startHttpServer({ stage });
    const { port } = first;
    const client = new Client({ name: "official", version: "1.0.0" });
    const reconnectionOptions = {
      initialReconnectionDelay: 20,
      maxReconnectionDelay: 100,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 1_000,
    };
    // Without a background stream, the client retries nothing else.
    const transport = new StreamableHTTPClientTransport(new URL(first.url), { reconnectionOptions });
    await client.connect(transport);
    try {
      let begun: () => void = () => {};
      const hasBegun = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const pending = client.callTool({ name: "codex", arguments: { prompt: "!hang" } }, undefined, { onprogress: () => begun() });
      await hasBegun;
      await killed(first);
      await using _second = await startHttpServer({ stage, args: ["--port", String(port)] });
      const result = await pending;
      expect(result).toMatchObject({ isError: true, structuredContent: { threadId: expect.stringMatching(/^[0-9a-f-]{36}$/) } });
    } finally {
      await client.close();
      await first[Symbol.asyncDispose]();
    }
  });
});
