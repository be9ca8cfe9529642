import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import {
  ask,
  type EventStream,
  type HttpQuestion,
  handshake,
  notice,
  openStream,
  rpc,
  SPEC,
  SPEC_LATER,
} from "../../../../test/support/http/httpClient.js";
import { type EndpointOptions, type McpEndpoint, startEndpoint } from "../../../../test/support/http/mcpEndpoint.js";
import { RequestBodies } from "../../../http/body.js";
import { type Deferred, deferred } from "../../../lib/promises.js";
import type { SessionMethod } from "../../sessions/session.js";

/** Answers after the test has released it, whatever happens to its signal. */
class Held {
  readonly begun: Deferred<void> = deferred();
  readonly released: Deferred<void> = deferred();

  readonly method: SessionMethod = async () => {
    this.begun.resolve();
    await this.released.promise;
    return { held: true };
  };
}

const METHODS: Readonly<Record<string, SessionMethod>> = {
  echo: (_session, { params }) => ({ said: params }),
  talk: (session, { id }) => {
    session.peer.notify("notifications/told", { about: "the request" }, { relatedTo: id });
    session.peer.notify("notifications/told", { about: "everything" });
    return { done: true };
  },
};

function start(options: EndpointOptions = {}): Promise<McpEndpoint> {
  return startEndpoint({ ...options, methods: { ...METHODS, ...options.methods } });
}

/** A client of the specification after the handshake; adds its headers and session to a question. */
async function greeted(origin: string): Promise<(question: HttpQuestion) => HttpQuestion> {
  const { session = "" } = await ask(origin, { headers: SPEC, message: handshake(0) });
  return ({ headers, ...question }) => ({ ...question, headers: { ...SPEC_LATER, "mcp-session-id": session, ...headers } });
}

describe("a POST of a client of the specification", () => {
  it("is answered by one body if the result comes first", async () => {
    await using endpoint = await start();
    const mine = await greeted(endpoint.origin);
    const { status, headers, body } = await ask(endpoint.origin, mine({ message: rpc(1, "echo", { a: 1 }) }));
    expect({ status, type: headers["content-type"], body }).toEqual({
      status: 200,
      type: "application/json",
      body: { id: 1, jsonrpc: "2.0", result: { said: { a: 1 } } },
    });
  });

  it("is answered by a stream of its own messages, the result last, if a message comes before it", async () => {
    await using endpoint = await start();
    const mine = await greeted(endpoint.origin);
    using stream = await openStream(endpoint.origin, mine({ message: rpc(1, "talk") }));
    expect(await stream.end()).toBe("gracefully");
    expect(stream.messages).toEqual([
      { jsonrpc: "2.0", method: "notifications/told", params: { about: "the request" } },
      { id: 1, jsonrpc: "2.0", result: { done: true } },
    ]);
  });

  it("becomes a stream if its result takes long, so that no proxy times out", async () => {
    const held = new Held();
    await using endpoint = await start({ methods: { hold: held.method } });
    const mine = await greeted(endpoint.origin);
    using stream = await openStream(endpoint.origin, mine({ message: rpc(1, "hold") }));
    held.released.resolve();
    expect(await stream.answerTo(1)).toMatchObject({ result: { held: true } });
    expect(await stream.end()).toBe("gracefully");
  });

  it("that broke before its headers has its messages, except the result, on the session's stream", async () => {
    const held = new Held();
    const holdAndTalk: SessionMethod = async (session, request) => {
      await held.method(session, request);
      return METHODS["talk"]?.(session, request);
    };
    await using endpoint = await start({ methods: { holdAndTalk } });
    const mine = await greeted(endpoint.origin);
    const gone = new AbortController();
    const broken = fetch(`${endpoint.origin}/mcp`, fetchOptions(mine({ message: rpc(1, "holdAndTalk") }), gone.signal));
    await held.begun.promise;
    gone.abort();
    await expect(broken).rejects.toThrow("aborted");
    await closedPosts(endpoint, 2);
    using stream = await openStream(endpoint.origin, mine({}));
    held.released.resolve();
    await stream.message("the last one", ({ params }) => isDeepStrictEqual(params, { about: "everything" }));
    expect(stream.messages.map(({ params }) => params)).toEqual([{ about: "the request" }, { about: "everything" }]);
  });

  it("gets 404 when its session ends without an answer", async () => {
    const held = new Held();
    await using endpoint = await start({ methods: { hold: held.method } });
    const mine = await greeted(endpoint.origin);
    const waiting = ask(endpoint.origin, mine({ headers: { "x-mcp-post-stream": "0" }, message: rpc(1, "hold") }));
    await held.begun.promise;
    await ask(endpoint.origin, mine({ method: "DELETE" }));
    const { status, body } = await waiting;
    expect({ status, body }).toMatchObject({
      status: 404,
      body: { id: 1, error: { message: expect.stringContaining("Session not found") } },
    });
    held.released.resolve();
  });

  it("is refused as busy, with the time to wait, if too many requests are in flight", async () => {
    const held = new Held();
    await using endpoint = await start({ methods: { hold: held.method }, requestsInFlight: 1 });
    const mine = await greeted(endpoint.origin);
    const waiting = ask(endpoint.origin, mine({ headers: { "x-mcp-post-stream": "0" }, message: rpc(1, "hold") }));
    await held.begun.promise;
    const { status, headers } = await ask(endpoint.origin, mine({ message: rpc(2, "echo") }));
    expect({ status, after: headers["retry-after"] }).toEqual({ status: 429, after: "5" });
    held.released.resolve();
    expect((await waiting).status).toBe(200);
  });
});

describe("a plain client", () => {
  it("gets one body for each POST, and all messages on its GET stream", async () => {
    await using endpoint = await start();
    const first = await ask(endpoint.origin, { message: rpc(1, "echo") });
    const mine = { "mcp-session-id": first.session ?? "" };
    using stream = await openStream(endpoint.origin, { headers: { ...mine, accept: "text/event-stream" } });
    const { status, body } = await ask(endpoint.origin, { headers: mine, message: rpc(2, "talk") });
    expect({ status, body }).toMatchObject({ status: 200, body: { id: 2, result: { done: true } } });
    await stream.answerTo(2);
    expect(stream.messages.map(({ params, result }) => params ?? result)).toEqual([
      { about: "the request" },
      { about: "everything" },
      { done: true },
    ]);
  });

  it("gets a stream of everything up to the result on request", async () => {
    await using endpoint = await start();
    using stream = await openStream(endpoint.origin, { headers: { "x-mcp-post-stream": "1" }, message: rpc(1, "talk") });
    expect(await stream.end()).toBe("gracefully");
    expect(stream.messages.map(({ params, result }) => params ?? result)).toEqual([
      { about: "the request" },
      { about: "everything" },
      { done: true },
    ]);
  });

  it("gets no body for a notification", async () => {
    await using endpoint = await start();
    const { status, body } = await ask(endpoint.origin, { message: notice("notifications/initialized") });
    expect({ status, body }).toEqual({ status: 204, body: "" });
  });
});

describe("an unknown event id is refused", () => {
  it.each<[string, HttpQuestion, number, number]>([
    ["text that is not JSON", { body: "{", headers: { "content-type": "application/json" } }, 400, -32700],
    ["a message without a method", { message: { jsonrpc: "2.0", id: 1 } }, 400, -32600],
    ["a batch where there are none", { message: [rpc(1, "echo")] }, 400, -32600],
    ["an empty batch", { message: [] }, 400, -32600],
    ["a body that is not declared as JSON", { body: "{}", headers: { "content-type": "text/plain" } }, 415, -32000],
    ["a body that is too long", { message: rpc(1, "echo", { text: "x".repeat(2_000) }) }, 413, -32000],
    ["an unsupported revision", { headers: { "mcp-protocol-version": "1999-01-01" }, message: rpc(1, "echo") }, 400, -32022],
    ["DELETE without a session", { method: "DELETE" }, 400, -32000],
    ["DELETE of an unknown session", { method: "DELETE", headers: { "mcp-session-id": "unknown" } }, 404, -32001],
    ["GET for JSON alone", { headers: { accept: "application/json" } }, 406, -32000],
    ["an id that no header may have", { headers: { "mcp-session-id": "a b" }, message: rpc(1, "echo") }, 400, -32000],
  ])("%s", async (_, question, status, code) => {
    await using endpoint = await start({ rules: { bodies: new RequestBodies(1_000) } });
    const reply = await ask(endpoint.origin, question);
    expect({ status: reply.status, body: reply.body }).toMatchObject({ status, body: { error: { code } } });
  });

  it("a second request under the id of one that runs", async () => {
    const held = new Held();
    await using endpoint = await start({ methods: { hold: held.method } });
    const mine = await greeted(endpoint.origin);
    const waiting = ask(endpoint.origin, mine({ headers: { "x-mcp-post-stream": "0" }, message: rpc(1, "hold") }));
    await held.begun.promise;
    const second = await ask(endpoint.origin, mine({ message: rpc(1, "echo") }));
    expect(second.body).toMatchObject({ id: 1, error: { code: -32600, message: "a request with this id is already in flight" } });
    held.released.resolve();
    expect((await waiting).body).toMatchObject({ result: { held: true } });
  });

  it("more streams than a session may have", async () => {
    await using endpoint = await start({ rules: { maxStreamsPerSession: 1 } });
    const mine = await greeted(endpoint.origin);
    using _stream: EventStream = await openStream(endpoint.origin, mine({}));
    const { status, headers } = await ask(endpoint.origin, mine({}));
    expect({ status, after: headers["retry-after"] }).toEqual({ status: 429, after: "5" });
  });

  it("an event id of another session, or of a request without kept messages", async () => {
    await using endpoint = await start();
    const mine = await greeted(endpoint.origin);
    using stream = await openStream(endpoint.origin, mine({ message: rpc(1, "talk") }));
    await stream.end();
    const done = await ask(endpoint.origin, mine({ headers: { "last-event-id": stream.lastEventId } }));
    const foreign = await ask(endpoint.origin, mine({ headers: { "last-event-id": "12345678.g.1" } }));
    expect([done.status, foreign.status]).toEqual([405, 400]);
  });
});

it("an unexpected failure of a method reaches the client without its text", async () => {
  const broken: SessionMethod = () => {
    throw new Error("a path that is nobody's business");
  };
  await using endpoint = await start({ methods: { broken } });
  const { body } = await ask(endpoint.origin, { message: rpc(1, "broken") });
  expect(body).toMatchObject({ id: 1, error: { code: -32603, message: "it failed" } });
  expect(endpoint.failures).toEqual(["broken: a path that is nobody's business"]);
});

function fetchOptions({ headers, message }: HttpQuestion, signal: AbortSignal): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(message), signal };
}

/** Resolves when the server has seen this number of POSTs end. */
async function closedPosts({ served }: McpEndpoint, count: number): Promise<void> {
  await expect.poll(() => served.filter((line) => line.startsWith("POST")).length).toBe(count);
}
