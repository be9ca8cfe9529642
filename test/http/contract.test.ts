import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handshake, notice, openStream, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const PING = rpc(1, "ping");
const PONG = { id: 1, jsonrpc: "2.0", result: {} };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOT_FOUND = { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } };

/** The id of a session whose client has shaken hands. */
async function openSession(headers: Readonly<Record<string, string>> = SPEC, version?: string): Promise<string> {
  const { session = "" } = await server.ask({ headers, message: handshake(0, version === undefined ? {} : { version }) });
  await server.ask({ headers: { ...headers, "mcp-session-id": session }, message: notice("notifications/initialized") });
  return session;
}

describe.concurrent("a POST", () => {
  it("needs no Accept", async () => {
    expect(await server.ask({ message: PING })).toMatchObject({ status: 200, body: PONG });
  });

  it("with an Accept of event streams alone is answered in JSON", async () => {
    const reply = await server.ask({ headers: { accept: "text/event-stream" }, message: toolCall(1, { prompt: "!say hi" }) });
    expect({ type: reply.headers["content-type"], text: valueAt(reply.body, "result.structuredContent.content") }).toEqual({
      type: "application/json",
      text: "hi",
    });
  });

  it("with X-MCP-POST-STREAM streams everything of the session until its answer", async () => {
    const { session = "" } = await server.ask({ message: handshake(0, { capabilities: { elicitation: {} } }) });
    const own = { "mcp-session-id": session };
    using stream = await server.stream({
      headers: { ...own, "x-mcp-post-stream": "1" },
      message: toolCall("mine", { prompt: "!shell touch x", "approval-policy": "untrusted" }),
    });
    const { id } = await stream.question();
    const { body: other } = await server.ask({ headers: own, message: toolCall("other", { prompt: "!say hi" }) });
    await server.ask({ headers: own, message: { jsonrpc: "2.0", id, result: { decision: "denied" } } });
    await stream.answerTo("mine");
    expect(await stream.end()).toBe("gracefully");
    expect(stream.messages).toContainEqual(other);
    expect(new Set(stream.messages.map((message) => valueAt(message, "params._meta.requestId")))).toEqual(
      new Set(["mine", "other", undefined]),
    );
    expect(stream.messages.at(-1)).toMatchObject({ id: "mine", result: { structuredContent: {} } });
  });

  it("of a plain client is one JSON body while the events are on the GET stream", async () => {
    using stream = await server.stream({});
    const { headers, body } = await server.ask({
      headers: { "mcp-session-id": stream.session ?? "" },
      message: toolCall(1, { prompt: "!say hi" }),
    });
    expect({ type: headers["content-type"], body }).toMatchObject({ type: "application/json", body: { id: 1, result: {} } });
    await stream.step("task_complete");
    expect(stream.steps).toContain("agent_message");
  });

  it("that needs no answer gets 202 from a spec client and 204 from a plain one", async () => {
    const session = await openSession();
    const initialized = notice("notifications/initialized");
    const answer = { jsonrpc: "2.0", id: 99, result: {} };
    const { session: ofPlain = "" } = await server.ask({ message: PING });
    for (const message of [initialized, answer]) {
      const spec = await server.ask({ headers: { ...SPEC_LATER, "mcp-session-id": session }, message });
      const plain = await server.ask({ headers: { "mcp-session-id": ofPlain }, message });
      expect([spec.status, spec.body, plain.status, plain.body]).toEqual([202, "", 204, ""]);
    }
  });

  it("of any method opens a session, whose id is a random UUID", async () => {
    const replies = await Promise.all([PING, PING, notice("notifications/initialized")].map((message) => server.ask({ message })));
    const ids = replies.map(({ session = "" }) => session);
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(3);
  });

  it("may name the session it opens", async () => {
    const chosen = `chosen!${"~".repeat(121)}`;
    expect(await server.ask({ headers: { "mcp-session-id": chosen }, message: PING })).toMatchObject({ status: 200, session: chosen });
    expect(await server.session(chosen)).toMatchObject({ id: chosen, requests: 1 });
  });

  it.each(["with space", "ümlaut", "x".repeat(129), ""])("with the session id %j is refused", async (id) => {
    expect(await server.ask({ headers: { "mcp-session-id": Buffer.from(id).toString("latin1") }, message: PING })).toMatchObject({
      status: 400,
      body: { id: null, error: { code: -32000, message: "mcp-session-id must be 1 to 128 visible ASCII characters" } },
    });
  });

  it("is answered with the id of its session every time", async () => {
    const session = await openSession({});
    for (const message of [PING, notice("notifications/initialized"), rpc(2, "no/such/method")])
      expect((await server.ask({ headers: { "mcp-session-id": session }, message })).session).toBe(session);
  });

  it.each(["/", "/mcp", "/mcp?x=1"])("is accepted at %s", async (path) => {
    expect(await server.ask({ path, message: PING })).toMatchObject({ status: 200, body: PONG });
  });

  it("is served before `initialized`", async () => {
    const { session = "", status } = await server.ask({ headers: SPEC, message: handshake(0) });
    const list = await server.ask({ headers: { ...SPEC_LATER, "mcp-session-id": session }, message: rpc(1, "tools/list") });
    expect([status, list.status, valueAt(list.body, "result.tools.0.name")]).toEqual([200, 200, "codex"]);
  });

  it("with a second `initialize` is answered under its own id, in the same session", async () => {
    const session = await openSession();
    expect(await server.ask({ headers: { ...SPEC_LATER, "mcp-session-id": session }, message: handshake("again") })).toMatchObject({
      status: 200,
      session,
      body: { jsonrpc: "2.0", id: "again", result: { protocolVersion: "2025-11-25" } },
    });
  });

  it("with a revision we do not speak is refused, and with another than the negotiated one is served", async () => {
    const session = await openSession(SPEC, "2025-06-18");
    const ping = (version: string) =>
      server.ask({ headers: { ...SPEC, "mcp-session-id": session, "mcp-protocol-version": version }, message: PING });
    expect(await ping("1999-01-01")).toMatchObject({
      status: 400,
      body: { id: null, error: { code: -32022, data: { requested: "1999-01-01", supported: expect.arrayContaining(["2025-11-25"]) } } },
    });
    expect(await ping("2025-11-25")).toMatchObject({ status: 200, body: PONG });
  });
});

describe.concurrent("a session", () => {
  it("ends with DELETE, and its id is then unknown to all callers", async () => {
    const session = await openSession();
    const own = { "mcp-session-id": session };
    expect(await server.ask({ method: "DELETE", headers: own })).toMatchObject({ status: 204, body: "" });
    for (const question of [{ headers: own, message: PING }, { headers: { ...own, ...SPEC_LATER }, message: PING }, { headers: own }])
      expect(await server.ask(question)).toMatchObject({ status: 404, body: NOT_FOUND });
    expect(await server.ask({ method: "DELETE", headers: own })).toMatchObject({ status: 404, body: NOT_FOUND });
    expect(await server.ask({ method: "DELETE" })).toMatchObject({ status: 400 });
  });

  it("of an unknown id is opened for plain clients; spec clients must repeat the handshake", async () => {
    const unknown = (headers: Readonly<Record<string, string>>, message: unknown) => server.ask({ headers, message });
    expect(await unknown({ "mcp-session-id": "u1" }, PING)).toMatchObject({ status: 200, session: "u1" });
    expect(await unknown({ ...SPEC_LATER, "mcp-session-id": "u2" }, PING)).toMatchObject({ status: 404, body: NOT_FOUND });
    expect(await unknown({ ...SPEC, "mcp-session-id": "u2" }, handshake(1))).toMatchObject({ status: 200, session: "u2" });
  });
});

describe.concurrent("a GET", () => {
  it("opens a session, whose id its answer carries, and keeps proxies from holding events back", async () => {
    using stream = await server.stream({ headers: { accept: "text/event-stream" } });
    expect(stream.session).toMatch(UUID);
    expect(stream.headers).toMatchObject({ "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" });
    expect(await server.session(stream.session)).toMatchObject({ requests: 0, streams: 1 });
  });

  it("accepts a missing Accept or one for everything, and refuses one that excludes streams", async () => {
    (await server.stream({})).breakOff();
    for (const accept of ["*/*", "text/*;q=0.5"]) (await server.stream({ headers: { accept } })).breakOff();
    expect(await server.ask({ headers: { accept: "application/json" } })).toMatchObject({ status: 406, body: { error: { code: -32000 } } });
  });

  it("may be repeated: plain clients get everything on each stream, including answers", async () => {
    using first = await server.stream({});
    const own = { "mcp-session-id": first.session ?? "" };
    using second = await server.stream({ headers: own });
    const { body } = await server.ask({ headers: own, message: toolCall(1, { prompt: "!say hi" }) });
    for (const stream of [first, second]) expect(await stream.answerTo(1)).toEqual(body);
    expect(first.messages).toEqual(second.messages);
  });

  it("of a spec client gets each message on one stream, and never an answer", async () => {
    const session = await openSession();
    const own = { ...SPEC_LATER, "mcp-session-id": session };
    using first = await server.stream({ headers: own });
    using second = await server.stream({ headers: own });
    await server.ask({ headers: { ...own, "x-mcp-post-stream": "0" }, message: toolCall(1, { prompt: "!say hi" }) });
    await server.ask({ headers: { ...own, "x-mcp-post-stream": "0" }, message: toolCall(2, { prompt: "!say ho" }) });
    await second.message(
      "the end of the second turn",
      (message) => valueAt(message, "params._meta.requestId") === 2 && valueAt(message, "params.msg.type") === "task_complete",
    );
    expect([...first.messages, ...second.messages].filter((message) => "result" in message)).toEqual([]);
    const numbers = [...first.messages, ...second.messages].map((message) => JSON.stringify(message));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("with Last-Event-ID continues where the client stopped", async () => {
    using first = await server.stream({});
    const own = { "mcp-session-id": first.session ?? "" };
    using whole = await server.stream({ headers: own });
    const asked = server.ask({ headers: own, message: toolCall(1, { prompt: "!slow 100 20" }) });
    await first.step("agent_message_delta");
    first.breakOff();
    await asked;
    using rest = await server.stream({ headers: { ...own, "last-event-id": first.lastEventId } });
    await rest.answerTo(1);
    await whole.answerTo(1);
    expect([...first.messages, ...rest.messages]).toEqual(whole.messages);
  });

  it("sends keep-alive comments", async () => {
    await using busy = await startHttpServer({ http: "keep_alive_seconds = 1" });
    using stream = await openStream(busy.origin, {});
    expect(await stream.comment()).toBe("");
  });
});

describe.concurrent("questions", () => {
  const asking = toolCall(1, { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" });

  it("are sent to clients that declare elicitation", async () => {
    const { session = "" } = await server.ask({ message: handshake(0, { capabilities: { elicitation: {} } }) });
    using stream = await server.stream({ headers: { "mcp-session-id": session } });
    const asked = server.ask({ headers: { "mcp-session-id": session }, message: asking });
    const { id } = await stream.question();
    await server.ask({ headers: { "mcp-session-id": session }, message: { jsonrpc: "2.0", id, result: { action: "decline" } } });
    expect(valueAt((await asked).body, "result.structuredContent.content")).toBe("done");
    expect(stream.steps).toContain("exec_approval_request");
  });

  it("are sent to other clients only if the server is configured so", async () => {
    using stream = await server.stream({});
    await server.ask({ headers: { "mcp-session-id": stream.session ?? "" }, message: asking });
    await stream.answerTo(1);
    expect(stream.messages.filter(({ method }) => method === "elicitation/create")).toEqual([]);

    await using insistent = await startHttpServer({ args: ["--approval-fallback", "ask"] });
    using other = await insistent.stream({});
    const asked = insistent.ask({ headers: { "mcp-session-id": other.session ?? "" }, message: asking });
    const { id } = await other.question();
    await insistent.ask({
      headers: { "mcp-session-id": other.session ?? "" },
      message: { jsonrpc: "2.0", id, result: { decision: "denied" } },
    });
    expect(valueAt((await asked).body, "result.structuredContent.content")).toBe("done");
  });
});
