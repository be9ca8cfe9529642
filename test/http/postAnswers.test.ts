import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EventStream, handshake, notice, rpc, SPEC, SPEC_LATER, stepsIn, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({ http: "turns_per_session = 1\nkeep_alive_seconds = 1" });
});
afterAll(() => server?.[Symbol.asyncDispose]());

type Headers = Readonly<Record<string, string>>;

/** The headers of a spec client that has shaken hands. */
async function greet(version = "2025-11-25"): Promise<Headers> {
  const { session = "" } = await server.ask({
    headers: SPEC,
    message: handshake(0, { version, capabilities: { elicitation: {} } }),
  });
  return { ...SPEC, "mcp-protocol-version": version, "mcp-session-id": session };
}

const say = toolCall(1, { prompt: "!say hi" });
const answersIn = (stream: EventStream) => stream.messages.filter((message) => "result" in message || "error" in message);

describe.concurrent("X-MCP-POST-STREAM", () => {
  it.each(["1", "yes", "true", ""])("%j makes the answer a stream, for plain and for spec clients", async (value) => {
    for (const headers of [{}, await greet()]) {
      using stream = await server.stream({ headers: { ...headers, "x-mcp-post-stream": value }, message: say });
      await stream.answerTo(1);
      expect(await stream.end()).toBe("gracefully");
      expect(stream.steps).toEqual(expect.arrayContaining(["session_configured", "task_complete"]));
    }
  });

  it("0 makes the answer one JSON body, and everything else is on the GET stream", async () => {
    const own = await greet();
    using stream = await server.stream({ headers: own });
    const { headers, body } = await server.ask({ headers: { ...own, "x-mcp-post-stream": "0" }, message: say });
    expect([headers["content-type"], valueAt(body, "result.structuredContent.content")]).toEqual(["application/json", "hi"]);
    await stream.step("task_complete");
    expect(answersIn(stream)).toEqual([]);
  });

  it("has no effect on messages without an answer", async () => {
    expect((await server.ask({ headers: { "x-mcp-post-stream": "1" }, message: notice("x") })).status).toBe(204);
  });
});

describe.concurrent("a client that shakes hands as the specification says", () => {
  // Gemini CLI and older official libraries send neither the protocol version nor both media types with their GET.
  const sparse = { accept: "text/event-stream" };

  it("gets nothing twice, even if later requests lack headers", async () => {
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
    const own = { "mcp-session-id": session };
    using background = await server.stream({ headers: { ...sparse, ...own } });
    using posted = await server.stream({ headers: { ...SPEC, ...own }, message: say });
    await posted.answerTo(1);
    await posted.end();
    // Other messages would arrive before the next event on the background stream.
    await server.ask({ headers: { ...SPEC, ...own, "x-mcp-post-stream": "0" }, message: toolCall(2, { prompt: "!say again" }) });
    await background.step("task_complete");
    const requests = background.messages.map((message) => valueAt(message, "params._meta.requestId"));
    expect([new Set(requests), answersIn(background)]).toEqual([new Set([2]), []]);
  });

  it("is answered as such even if a request lacks the header", async () => {
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
    const { status } = await server.ask({ headers: { "mcp-session-id": session }, message: notice("notifications/initialized") });
    expect(status).toBe(202);
  });
});

describe.concurrent("the POST of a plain client", () => {
  it.each(["*/*", "text/event-stream", "application/json"])("is answered by one JSON body although it accepts %s", async (accept) => {
    const { headers, body } = await server.ask({ headers: { accept }, message: say });
    expect([headers["content-type"], valueAt(body, "result.structuredContent.content")]).toEqual(["application/json", "hi"]);
  });

  it("may break: the turn continues, and the answer is on the client's stream", async () => {
    using watching = await server.stream({});
    const own = { "mcp-session-id": watching.session ?? "" };
    const abort = new AbortController();
    const headers = { ...own, "content-type": "application/json" };
    const call = JSON.stringify(toolCall(1, { prompt: "!slow 100 20" }));
    const broken = fetch(server.url, { method: "POST", headers, body: call, signal: abort.signal }).catch(() => "broken");
    await watching.step("agent_message_delta");
    abort.abort();
    expect(await broken).toBe("broken");
    expect(valueAt(await watching.answerTo(1), "result.isError")).toBeUndefined();
  });

  it("that is cancelled ends with a result that says so, and the thread continues", async () => {
    using watching = await server.stream({});
    const own = { "mcp-session-id": watching.session ?? "" };
    const asked = server.ask({ headers: own, message: toolCall(1, { prompt: "!hang" }) });
    const threadId = valueAt(await watching.step("user_message"), "params._meta.threadId");
    await server.ask({ headers: own, message: notice("notifications/cancelled", { requestId: 1 }) });
    expect((await asked).body).toMatchObject({ id: 1, result: { isError: true, structuredContent: { threadId } } });
    await watching.step("turn_aborted");
    const { body } = await server.ask({ headers: own, message: toolCall(2, { threadId, prompt: "!say on" }, "codex-reply") });
    expect(valueAt(body, "result.structuredContent.content")).toBe("on");
  });
});

describe.concurrent("the POST of a spec client", () => {
  it("is answered by one JSON body when nothing comes before the answer", async () => {
    const own = await greet();
    for (const message of [rpc(1, "ping"), rpc(1, "tools/list"), rpc(1, "no/such/method"), toolCall(1, {}, "nonsense")])
      expect((await server.ask({ headers: own, message })).headers["content-type"]).toBe("application/json");
  });

  it("turns into a stream of its own messages, the answer last, which are not on the GET stream", async () => {
    const own = await greet();
    using shared = await server.stream({ headers: own });
    using stream = await server.stream({ headers: own, message: say });
    await stream.answerTo(1);
    expect(await stream.end()).toBe("gracefully");
    expect(answersIn(stream)).toEqual([stream.messages.at(-1)]);
    expect(stream.steps).toEqual(expect.arrayContaining(["session_configured", "task_complete"]));
    expect(shared.messages).toEqual([]);
  });

  it("begins with an event that only has an id, for clients that reconnect with it", async () => {
    using newest = await server.stream({ headers: await greet(), message: say });
    using older = await server.stream({ headers: await greet("2025-06-18"), message: say });
    await Promise.all([newest.answerTo(1), older.answerTo(1)]);
    expect(newest.events[0]).toMatchObject({ id: expect.any(String), data: "" });
    expect(older.events[0]?.data).not.toBe("");
  });

  it("turns into a stream with keep-alive comments if nothing happens for long", async () => {
    const own = await greet();
    using first = await server.stream({ headers: own, message: toolCall(1, { prompt: "!hang" }) });
    using waiting = await server.stream({ headers: own, message: toolCall(2, { prompt: "!say hi" }) });
    await waiting.comment();
    expect(waiting.messages).toEqual([]);
    await server.ask({ headers: own, message: notice("notifications/cancelled", { requestId: 1 }) });
    await first.answerTo(1);
    expect(valueAt(await waiting.answerTo(2), "result.structuredContent.content")).toBe("hi");
  });

  it("that breaks is resumed by a GET with its last event id, once, until its answer", async () => {
    const own = await greet();
    using shared = await server.stream({ headers: own });
    using first = await server.stream({ headers: own, message: toolCall(1, { prompt: "!slow 100 20" }) });
    await first.step("agent_message_delta");
    first.breakOff();
    using rest = await server.stream({ headers: { ...own, "last-event-id": first.lastEventId } });
    await rest.answerTo(1);
    expect(await rest.end()).toBe("gracefully");
    const words = [...first.messages, ...rest.messages].filter((message) => stepsIn([message])[0] === "agent_message_delta");
    expect(words.map((message) => valueAt(message, "params.msg.delta")).join("")).toBe(
      valueAt(rest.messages.at(-1), "result.structuredContent.content"),
    );
    expect(shared.messages).toEqual([]);
    // There is nothing more to replay, and the status tells the official clients not to retry.
    expect((await server.ask({ headers: { ...own, "last-event-id": rest.lastEventId } })).status).toBe(405);
  });

  it("carries the questions of its turn, and takes their answers by another POST", async () => {
    const own = await greet();
    const asking = { prompt: "!shell touch x", "approval-policy": "untrusted", sandbox: "workspace-write" };
    using shared = await server.stream({ headers: own });
    using stream = await server.stream({ headers: own, message: toolCall(1, asking) });
    const { id } = await stream.question();
    const answer = await server.ask({
      headers: own,
      message: { jsonrpc: "2.0", id, result: { action: "accept", content: { decision: "denied" } } },
    });
    expect(answer.status).toBe(202);
    await stream.answerTo(1);
    expect(shared.messages).toEqual([]);
  });

  it("whose session ends is answered nevertheless", async () => {
    const own = await greet();
    using stream = await server.stream({ headers: { ...SPEC_LATER, ...own }, message: toolCall(1, { prompt: "!hang" }) });
    await stream.step("user_message");
    await server.ask({ method: "DELETE", headers: own });
    expect(await stream.answerTo(1)).toMatchObject({ result: { isError: true } });
    expect(await stream.end()).toBe("gracefully");
  });
});
