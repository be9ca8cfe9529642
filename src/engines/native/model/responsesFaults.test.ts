import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startLoopback } from "../../../../test/support/http/loopback.js";
import { ask, clientFor, SMALL_BODY } from "../../../../test/support/model/modelRequests.js";
import { startResponsesServer } from "../../../../test/support/model/responsesServer.js";
import { deferred } from "../../../lib/promises.js";
import { adviceOnConnection } from "./advice.js";
import type { ModelEvent } from "./client.js";

const DELTA = 'data: {"type":"response.output_text.delta","item_id":"m","delta":"x"}\n\n';
const COMPLETED = 'data: {"type":"response.completed","response":{"id":"r"}}\n\n';

const IDLE = "stream disconnected before completion: idle timeout waiting for SSE";
const CUT = "stream disconnected before completion: Transport error: network error: error decoding response body";
const CLOSED = "stream disconnected before completion: stream closed before response.completed";

function begin(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream" });
}

describe("a provider that", () => {
  it("cuts the connection in the middle of an answer", async () => {
    await using server = await startResponsesServer({ respond: () => ({ stream: DELTA, ending: "cut" }) });
    const { events, failure } = await ask(clientFor({ baseUrl: server.url }));
    expect([events.length, failure?.message, failure?.retry]).toEqual([2, CUT, "stream"]);
  });

  it.each([
    ["no event at all", ""],
    ["only garbage", "<html>\n\nnot a stream"],
    ["half an event", `${DELTA}data: {"type":"response.comp`],
    ["an event without its blank line", `${DELTA}${COMPLETED.trimEnd()}\n`],
  ])("ends the answer early, with %s", async (_what, stream) => {
    await using server = await startResponsesServer({ respond: () => ({ stream }) });
    const { failure } = await ask(clientFor({ baseUrl: server.url }));
    expect([failure?.message, failure?.retry]).toEqual([CLOSED, "stream"]);
  });

  it("is not there", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" ? address?.port : undefined;
    taken.close();
    await once(taken, "close");
    const { failure } = await ask(clientFor({ baseUrl: `http://127.0.0.1:${port}/v1`, queryParams: { key: "secret" } }));
    expect([failure?.message, failure?.retry]).toEqual([
      `stream disconnected before completion: error sending request for url (http://127.0.0.1:${port}/v1/responses)`,
      "request",
    ]);
  });

  it.each([
    ["refuses with the whole address", (asked: string) => ({ status: 400, body: JSON.stringify({ error: { message: `no ${asked}` } }) })],
    ["is not there yet", (asked: string) => ({ status: 503, body: `try ${asked} later` })],
    [
      "fails in the middle of an answer",
      (asked: string) => ({
        stream: `data: ${JSON.stringify({ type: "response.failed", response: { error: { code: "server_error", message: `no ${asked}` } } })}\n\n`,
      }),
    ],
  ])("%s, which is reported without its secrets", async (_, answer) => {
    const queryParams = { code: "very/secret+value", "api-version": "2024-10-21" };
    await using server = await startResponsesServer({
      respond: () => answer(`/v1/responses?${new URLSearchParams(queryParams).toString()}`),
    });
    const { failure } = await ask(clientFor({ baseUrl: server.url, queryParams }));
    expect(failure?.message).toContain("/v1/responses?code=****&api-version=2024-10-21");
  });

  it("accepts the connection and never answers", async () => {
    await using server = await startLoopback((request) => void request.resume());
    const { failure } = await ask(clientFor({ baseUrl: server.origin, streamIdleTimeoutMs: 50 }));
    expect([failure?.message, failure?.retry]).toEqual([IDLE, "stream"]);
    await server.allLeft();
  });

  it("falls silent in the middle of an answer", async () => {
    await using server = await startResponsesServer({ respond: () => ({ stream: DELTA, ending: "hang" }) });
    const { events, failure } = await ask(clientFor({ baseUrl: server.url, streamIdleTimeoutMs: 50 }));
    expect([events.length, failure?.message, failure?.retry]).toEqual([2, IDLE, "stream"]);
  });

  it("falls silent in the middle of an error's body", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      response.writeHead(503).write("half a");
    });
    const { failure } = await ask(clientFor({ baseUrl: server.origin, streamIdleTimeoutMs: 50 }));
    expect(failure?.message).toBe(IDLE);
    await server.allLeft();
  });

  it("sends signs of life but no event", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      begin(response);
      const alive = setInterval(() => response.write(": alive\n\n"), 5);
      response.once("close", () => clearInterval(alive));
    });
    const { failure } = await ask(clientFor({ baseUrl: server.origin, streamIdleTimeoutMs: 100 }));
    expect(failure?.message).toBe(IDLE);
  });

  it("is slow, but never as slow as the limit", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let answer: ServerResponse | undefined;
    await using server = await startLoopback((request, response) => {
      request.resume();
      answer = begin(response);
      answer.write(DELTA);
    });
    const client = clientFor({ baseUrl: server.origin, streamIdleTimeoutMs: 500 });
    const seen: string[] = [];
    for await (const batch of client.stream({ body: SMALL_BODY }, new AbortController().signal)) {
      seen.push(...batch.map(({ type }) => type));
      if (seen.at(-1) !== "textDelta") continue;
      vi.advanceTimersByTime(450);
      answer?.write(seen.length <= 15 ? DELTA : COMPLETED);
    }
    expect(seen).toEqual(["accepted", ...Array(15).fill("textDelta"), "completed"]);
  });

  it.each([
    ["line after line", `: ${"x".repeat(65_000)}\n\n`],
    ["one line", "x".repeat(65_536)],
  ])("sends an answer that never ends: %s", async (_what, piece) => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      begin(response);
      const pour = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", pour);
      pour();
    });
    const { failure } = await ask(clientFor({ baseUrl: server.origin }));
    expect([failure?.message, failure?.retry]).toEqual(["stream disconnected before completion: the answer does not end", "never"]);
    await server.allLeft();
  });

  it("refuses with a page that never ends, of which the beginning is shown", async () => {
    let sent = 0;
    await using server = await startLoopback((request, response) => {
      request.resume();
      response.writeHead(400);
      const pour = () => {
        while (!response.destroyed && response.write("y".repeat(10_000))) sent += 10_000;
      };
      response.on("drain", pour);
      pour();
    });
    const { failure } = await ask(clientFor({ baseUrl: server.origin }));
    expect(failure?.message).toBe("y".repeat(64 * 1024));
    await server.allLeft();
    expect(sent).toBeLessThan(50_000_000);
  });

  it("breaks off while it refuses", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      response.writeHead(400, { "content-length": "100" });
      response.write("half of it", () => response.destroy());
    });
    const { failure } = await ask(clientFor({ baseUrl: server.origin }));
    expect([failure?.message, failure?.retry]).toEqual(["half of it (the rest of the answer could not be read: aborted)", "never"]);
  });

  it.each([
    [
      { status: 400, body: '{"error":"no"}' },
      { message: '{"error":"no"}', retry: "never" },
    ],
    [
      { status: 401, body: "who?" },
      { message: "unexpected status 401 Unauthorized: ", retry: "never" },
    ],
    [
      { status: 403, body: "no" },
      { message: "unexpected status 403 Forbidden: no, url: URL/responses", retry: "never" },
    ],
    [
      { status: 404, body: "" },
      { message: "unexpected status 404 Not Found: , url: URL/responses", retry: "never" },
    ],
    [
      { status: 429 },
      { message: "exceeded retry limit, last status: 429 Too Many Requests", retry: "requestOnly", retryAfterMs: undefined },
    ],
    [
      { status: 429, headers: { "retry-after": "3" } },
      { retry: "requestOnly", retryAfterMs: 3000 },
    ],
    [{ status: 500 }, { info: "internal_server_error", retry: "request" }],
    [
      { status: 503, body: "later", headers: { "retry-after-ms": "20" } },
      { retry: "request", retryAfterMs: 20 },
    ],
    [{ status: 307, headers: { location: "/elsewhere" }, body: "moved" }, { retry: "never" }],
  ])("refuses: %j", async (answer, failure) => {
    await using server = await startResponsesServer({ respond: () => answer });
    const asked = await ask(clientFor({ baseUrl: server.url }));
    const message = "message" in failure ? { message: failure.message.replace("URL", server.url) } : {};
    expect(asked.events).toEqual([]);
    expect(asked.failure).toMatchObject({ ...failure, ...message });
  });

  it("speaks no HTTP", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.end("SSH-2.0-OpenSSH\r\n");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const { failure } = await ask(clientFor({ baseUrl: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}` }));
    server.close();
    expect([failure?.message, failure?.retry]).toEqual([expect.stringContaining("error sending request for url"), "request"]);
  });
});

describe("what a failure says to do about", () => {
  it("a provider that is not there", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    taken.close();
    await once(taken, "close");
    const { failure } = await ask(clientFor({ baseUrl: `http://${host}/v1` }));
    expect(failure?.advice).toBe(`Nothing accepts connections at ${host}: start the provider, or correct its base_url in config.toml.`);
    const env = { http_proxy: `http://user:secret@${host}` };
    const proxied = await ask(clientFor({ baseUrl: "http://model.example/v1" }, { env }));
    expect(proxied.failure?.advice).toBe(
      `Nothing accepts connections at ${host}, the proxy that this server's environment names: start it, correct it there, or list model.example in no_proxy.`,
    );
  });

  it.each([
    [
      "ENOTFOUND",
      "The name proxy.example of the proxy in this server's environment could not be resolved (ENOTFOUND): correct it there, or",
    ],
    [
      "ECONNRESET",
      "The connection to model.example failed (ECONNRESET). Try again; if it goes on, check this machine's network. The request",
    ],
  ])("%s on the way to a proxy", (code, words) => {
    const error = Object.assign(new Error("failed"), { code });
    const advice = adviceOnConnection(error, new URL("https://model.example/v1"), "http://user:secret@proxy.example:3128");
    expect(advice).toContain(words);
    expect(advice).not.toContain("secret");
  });

  it("an address without HTTP, or without HTTPS", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.end("SSH-2.0-OpenSSH\r\n");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const [plain, secure] = [await ask(clientFor({ baseUrl: `http://${host}` })), await ask(clientFor({ baseUrl: `https://${host}` }))];
    server.close();
    expect(plain.failure?.advice).toContain(`What answers at ${host} does not speak HTTP (`);
    expect(secure.failure?.advice).toContain(`What answers at ${host} does not speak HTTPS (`);
  });

  it.each([
    ["a web page", { "content-type": "text/html" }, "<html>Welcome</html>"],
    ["events of another API", { "content-type": "text/event-stream" }, 'data: {"choices":[]}\n\ndata: [DONE]\n\n'],
    ["nothing", {}, ""],
  ])("an answer that is %s", async (_what, headers, body) => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      response.writeHead(200, headers).end(body);
    });
    const { failure } = await ask(clientFor({ baseUrl: server.origin }));
    const type = "content-type" in headers ? headers["content-type"] : "none";
    expect([failure?.message, failure?.retry]).toEqual([CLOSED, "stream"]);
    expect(failure?.advice).toContain(`No event of the Responses API came (content type: ${type}). Check that base_url in config.toml`);
  });

  it("a Responses API that ends early is nothing: a retry may help", async () => {
    await using server = await startResponsesServer({ respond: () => ({ stream: 'data: {"type":"response.created"}\n\n' }) });
    const { failure } = await ask(clientFor({ baseUrl: server.url }));
    expect([failure?.message, failure?.advice]).toEqual([CLOSED, undefined]);
  });

  it("a provider that is silent for too long", async () => {
    await using server = await startLoopback((request) => void request.resume());
    const { failure } = await ask(clientFor({ baseUrl: server.origin, streamIdleTimeoutMs: 50 }));
    expect(failure?.advice).toBe("No event came for 0.05 s (stream_idle_timeout_ms in config.toml).");
  });

  it("a key that is missing in its variable", async () => {
    const { failure } = await ask(clientFor({ baseUrl: "http://127.0.0.1:9/v1", envKey: "MY_KEY" }));
    expect(failure?.advice).toContain("Set it in this server's environment");
  });
});

it("our own key is masked in every text of a failure, whatever the provider repeats", async () => {
  const key = "sk-0123456789";
  const said = (request: IncomingMessage) => `no luck with ${request.headers.authorization}`;
  const failed = (message: string) => `data: ${JSON.stringify({ type: "response.failed", response: { error: { message } } })}\n\n`;
  await using server = await startLoopback((request, response) => {
    request.resume();
    if (request.url?.startsWith("/failed")) begin(response).end(failed(said(request)));
    else response.writeHead(200, { "content-type": said(request) }).end();
  });
  for (const place of ["failed", "page"]) {
    const { failure } = await ask(clientFor({ baseUrl: `${server.origin}/${place}`, envKey: "KEY" }, { env: { KEY: key } }));
    const texts = [failure?.message, failure?.advice, failure?.asRecorded().message].join("\n");
    expect(texts).toContain("no luck with Bearer ****");
    expect(texts).not.toContain(key);
  }
});

describe("a caller that cancels", () => {
  const reason = new Error("the turn was interrupted");

  async function takeAll(baseUrl: string, signal: AbortSignal, onBatch: (batch: readonly ModelEvent[]) => void): Promise<void> {
    for await (const batch of clientFor({ baseUrl }).stream({ body: SMALL_BODY }, signal)) onBatch(batch);
  }

  it.each([
    ["before the provider answers", () => undefined],
    ["in the middle of a refusal", (response: ServerResponse) => response.writeHead(500).write("so")],
  ])("leaves at once: %s", async (_when, answer) => {
    const abort = new AbortController();
    await using server = await startLoopback((request, response) => {
      request.resume();
      answer(response);
      request.once("end", () => setImmediate(() => abort.abort(reason)));
    });
    await expect(takeAll(server.origin, abort.signal, () => undefined)).rejects.toBe(reason);
    await server.allLeft();
  });

  it("leaves at once: in the middle of an answer", async () => {
    const abort = new AbortController();
    await using server = await startLoopback((request, response) => {
      request.resume();
      begin(response).write(DELTA);
    });
    const seen: string[] = [];
    const leaving = takeAll(server.origin, abort.signal, (batch) => {
      seen.push(...batch.map(({ type }) => type));
      if (seen.includes("textDelta")) abort.abort(reason);
    });
    await expect(leaving).rejects.toBe(reason);
    await server.allLeft();
    expect(seen).toEqual(["accepted", "textDelta"]);
  });

  it("stops at once: with the whole answer received, but not yet read", async () => {
    const abort = new AbortController();
    await using server = await startLoopback((request, response) => {
      request.resume();
      begin(response).write(DELTA + COMPLETED);
    });
    const leaving = takeAll(server.origin, abort.signal, (batch) => {
      if (batch.some(({ type }) => type === "completed")) abort.abort(reason);
    });
    await expect(leaving).resolves.toBeUndefined();
    await expect(server.allLeft()).resolves.toBeUndefined();
  });

  it("makes no request if it was already cancelled", async () => {
    await using server = await startResponsesServer();
    const stream = clientFor({ baseUrl: server.url }).stream({ body: SMALL_BODY }, AbortSignal.abort(reason));
    await expect(stream.next()).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });

  it.each([1, 2])("closes the connection by not taking more than %i batch", async (taken) => {
    const accepted = deferred<void>();
    await using server = await startLoopback((request, response) => {
      request.resume();
      const answer = begin(response);
      answer.flushHeaders();
      void accepted.promise.then(() => answer.write(DELTA));
    });
    let batches = 0;
    for await (const _batch of clientFor({ baseUrl: server.origin }).stream({ body: SMALL_BODY }, new AbortController().signal)) {
      if (++batches === taken) break;
      accepted.resolve();
    }
    await server.allLeft();
    expect(batches).toBe(taken);
  });
});

describe("an answer", () => {
  it("is one batch with its acceptance if both arrive together", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      begin(response).end(DELTA + COMPLETED);
    });
    const stream = clientFor({ baseUrl: server.origin }).stream({ body: SMALL_BODY }, new AbortController().signal);
    const { value } = await stream.next();
    expect((value ?? []).map(({ type }: ModelEvent) => type)).toEqual(["accepted", "textDelta", "completed"]);
    expect((await stream.next()).done).toBe(true);
  });

  it("waits for a slow reader, and loses nothing", async () => {
    const PIECES = 3_000;
    await using server = await startLoopback((request, response) => {
      request.resume();
      const answer = begin(response);
      answer.flushHeaders();
      for (let piece = 0; piece < PIECES; piece++) answer.write(DELTA);
      answer.end(COMPLETED);
    });
    let pieces = 0;
    for await (const batch of clientFor({ baseUrl: server.origin }).stream({ body: SMALL_BODY }, new AbortController().signal)) {
      pieces += batch.filter(({ type }) => type === "textDelta").length;
      await nextTurn();
      await nextTurn();
    }
    expect(pieces).toBe(PIECES);
  });
});

describe("connections to a provider", () => {
  const answerWhole = (response: ServerResponse) => begin(response).end(DELTA + COMPLETED);

  it("are reused: twenty requests need at most two", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      answerWhole(response);
    });
    const client = clientFor({ baseUrl: server.origin });
    for (let asked = 0; asked < 20; asked++) expect((await ask(client)).failure).toBeUndefined();
    // The next request may be sent before the last byte of the previous answer arrives, and then needs a second connection.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it("are kept when an answer's end comes later than its last event", async () => {
    let answer: ServerResponse | undefined;
    await using server = await startLoopback((request, response) => {
      request.resume();
      answer = begin(response);
      answer.write(COMPLETED);
    });
    const client = clientFor({ baseUrl: server.origin });
    for (let asked = 0; asked < 3; asked++) {
      expect((await ask(client)).failure).toBeUndefined();
      answer?.end();
      if (answer) await once(answer, "finish");
      // The end is in this machine's network: the client reads it within the next turns of the event loop.
      for (let turn = 0; turn < 5; turn++) await nextTurn();
    }
    expect(server.connections).toBe(1);
  });

  it("are kept after a refusal", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      response.writeHead(503).end("later");
    });
    const client = clientFor({ baseUrl: server.origin });
    for (let asked = 0; asked < 5; asked++) expect((await ask(client)).failure?.retry).toBe("request");
    expect(server.connections).toBe(1);
  });

  it("are released when a complete answer is never closed, without a delay for the caller", async () => {
    await using server = await startLoopback((request, response) => {
      request.resume();
      begin(response).write(COMPLETED);
    });
    // Longer than the limit of the test.
    const { failure } = await ask(clientFor({ baseUrl: server.origin, streamIdleTimeoutMs: 600_000 }));
    expect(failure).toBeUndefined();
    await expect(server.allLeft()).resolves.toBeUndefined();
  });

  it("that the server closed meanwhile are replaced without a failure, however many they are", async () => {
    const greeted = new Set<unknown>();
    const waiting: ServerResponse[] = [];
    await using server = await startLoopback((request, response) => {
      request.resume();
      if (greeted.has(request.socket)) return void request.socket.destroy();
      greeted.add(request.socket);
      if (greeted.size > 3) return void answerWhole(response);
      // The first three are answered together, so that each needs a connection.
      if (waiting.push(response) === 3) for (const each of waiting) answerWhole(each);
    });
    const client = clientFor({ baseUrl: server.origin });
    await Promise.all([ask(client), ask(client), ask(client)]);
    expect((await ask(client)).failure).toBeUndefined();
    expect(server.connections).toBe(4);
  });

  it("that break while they are new are a failure", async () => {
    await using server = await startLoopback((request) => void request.socket.destroy());
    const { failure } = await ask(clientFor({ baseUrl: server.origin }));
    expect([failure?.retry, server.connections]).toEqual(["request", 1]);
  });

  it("carry a request of several megabytes", async () => {
    await using server = await startResponsesServer();
    const text = `!say got it\n${"é".repeat(2_500_000)}`;
    const body = JSON.stringify({ model: "m", tools: [], input: [{ role: "user", content: text }] });
    expect((await ask(clientFor({ baseUrl: server.url }), body)).failure).toBeUndefined();
    expect(server.requests[0]?.body.input[0]?.content).toBe(text);
  });
});
