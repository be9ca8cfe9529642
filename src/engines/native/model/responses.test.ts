import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { startLoopback } from "../../../../test/support/http/loopback.js";
import { ask, clientFor, SMALL_BODY } from "../../../../test/support/model/modelRequests.js";
import { startResponsesServer } from "../../../../test/support/model/responsesServer.js";

const COMPLETED = { type: "completed", responseId: "r", usage: undefined };
const ACCEPTED = { type: "accepted", rateLimits: undefined };

function frames(events: readonly object[], lineEnd = "\n"): string {
  return events.map((event) => `data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`).join("");
}

const TALE = [
  { type: "response.output_text.delta", item_id: "m", delta: "Grüße, 世界 " },
  { type: "response.output_text.delta", item_id: "m", delta: '👩‍💻\r\n"ok"' },
  { type: "response.completed", response: { id: "r" } },
];
const TALE_TOLD = [
  ACCEPTED,
  { type: "textDelta", itemId: "m", delta: "Grüße, 世界 " },
  { type: "textDelta", itemId: "m", delta: '👩‍💻\r\n"ok"' },
  COMPLETED,
];

/** Sends each piece as an HTTP chunk of its own, so that the client receives them separately. */
function sendPieces(response: ServerResponse, pieces: readonly Uint8Array[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of pieces) response.write(piece);
  response.end();
}

describe("an answer of the Responses API", () => {
  it.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
  ])("is the same wherever the network splits it, with %s between lines", async (_name, lineEnd) => {
    const bytes = Buffer.from(`: hello${lineEnd}${frames(TALE, lineEnd)}`);
    await using server = await startLoopback((request, response, at) => {
      request.resume();
      if (at === 0)
        sendPieces(
          response,
          Array.from(bytes, (byte) => Uint8Array.of(byte)),
        );
      else sendPieces(response, [bytes.subarray(0, at), bytes.subarray(at)]);
    });
    const client = clientFor({ baseUrl: server.origin });
    for (let at = 0; at < bytes.length; at++) expect(await ask(client), `cut at ${at}`).toEqual({ events: TALE_TOLD, failure: undefined });
  });

  it("may contain comments, names, ids, [DONE], garbage and unknown events", async () => {
    const stream = [
      ": keep-alive\n\n",
      "event: response.created\nid: 7\nretry: 10\n\n",
      "data: {not json\n\n",
      "data: 17\n\n",
      "\u0000\u0001 noise without a colon\n\n",
      "data: [DONE]\n\n",
      'data: {"type":"response.brand_new","x":1}\n\n',
      'data: {"type":"response.output_text.delta",\ndata: "item_id":"m","delta":"two lines"}\n\n',
      frames([{ type: "response.completed", response: { id: "r" } }]),
    ].join("");
    await using server = await startResponsesServer({ respond: () => ({ stream }) });
    expect(await ask(clientFor({ baseUrl: server.url }))).toEqual({
      events: [ACCEPTED, { type: "textDelta", itemId: "m", delta: "two lines" }, COMPLETED],
      failure: undefined,
    });
  });

  it("keeps unknown items exactly", async () => {
    const item = { type: "hologram", id: "h_1", layers: [{ z: 1.5, note: null }, "ü", true], empty: {} };
    await using server = await startResponsesServer({
      respond: () => ({ stream: frames([{ type: "response.output_item.done", item }, { type: "response.completed" }]) }),
    });
    const { events } = await ask(clientFor({ baseUrl: server.url }));
    expect(JSON.stringify(events[1])).toBe(JSON.stringify({ type: "itemDone", item }));
  });

  it("ends at its completion and ignores later data", async () => {
    const completed = { type: "response.completed", response: { id: "r" } };
    const late = { type: "response.output_text.delta", item_id: "m", delta: "late" };
    const failed = { type: "response.failed", response: { error: { code: "late", message: "late" } } };
    await using server = await startResponsesServer({ respond: () => ({ stream: frames([completed, late, failed]) }) });
    expect(await ask(clientFor({ baseUrl: server.url }))).toEqual({ events: [ACCEPTED, COMPLETED], failure: undefined });
  });

  it("delivers everything that arrived before a failure", async () => {
    const failed = { type: "response.failed", response: { error: { code: "server_error", message: "broke" } } };
    await using server = await startResponsesServer({ respond: () => ({ stream: frames([...TALE.slice(0, 1), failed]) }) });
    const { events, failure } = await ask(clientFor({ baseUrl: server.url }));
    expect(events).toEqual(TALE_TOLD.slice(0, 2));
    expect(failure).toMatchObject({ message: "stream disconnected before completion: broke", retry: "stream" });
  });

  it("reports the provider's limits when it begins", async () => {
    await using server = await startResponsesServer({ respond: () => ({ headers: { "x-codex-primary-used-percent": "40" } }) });
    const { events } = await ask(clientFor({ baseUrl: server.url }));
    expect(events[0]).toEqual({
      type: "accepted",
      rateLimits: {
        primary: { used_percent: 40, window_minutes: null, resets_at: null },
        secondary: null,
        credits: null,
        plan_type: null,
      },
    });
  });
});

describe("a request to the Responses API", () => {
  it("goes to the provider's address with its query, headers, key and body", async () => {
    await using server = await startResponsesServer();
    const client = clientFor(
      { baseUrl: `${server.url}/`, queryParams: { "api-version": "1" }, httpHeaders: { "X-Team": "blue" }, envKey: "KEY" },
      { env: { KEY: "k-1" } },
    );
    await ask(client);
    const [request] = server.requests;
    const { host, connection, ...headers } = request?.headers ?? {};
    expect([host, connection, request?.url, JSON.stringify(request?.body)]).toEqual([
      new URL(server.url).host,
      "keep-alive",
      "/v1/responses?api-version=1",
      SMALL_BODY,
    ]);
    expect(headers).toEqual({
      accept: "text/event-stream",
      authorization: "Bearer k-1",
      "content-length": String(SMALL_BODY.length),
      "content-type": "application/json",
      session_id: "thread-1",
      "user-agent": "test/1",
      "x-team": "blue",
    });
  });

  it.each(["chat", "responses_websocket"] as const)("is not made with another wire protocol: wire_api = %s", async (wireApi) => {
    await using server = await startResponsesServer();
    const { failure } = await ask(clientFor({ id: "mine", baseUrl: server.url, wireApi }));
    expect([failure?.message, failure?.retry, server.requests]).toEqual([
      `Provider \`mine\` is configured with wire_api = "${wireApi}", which this server does not speak. ` +
        'Set wire_api = "responses" in [model_providers.mine] of config.toml if the provider offers the Responses API.',
      "never",
      [],
    ]);
  });

  it("is not made without the key it needs", async () => {
    await using server = await startResponsesServer();
    const { failure } = await ask(clientFor({ baseUrl: server.url, envKey: "MISSING_KEY" }));
    expect([failure?.message, server.requests]).toEqual(["Missing environment variable: `MISSING_KEY`.", []]);
  });

  it("is not made with a key that HTTP cannot carry, nor is the key shown", async () => {
    await using server = await startResponsesServer();
    const { failure } = await ask(clientFor({ id: "mine", baseUrl: server.url, envKey: "KEY" }, { env: { KEY: "sk-…" } }));
    expect([failure?.message, failure?.retry, server.requests]).toEqual([
      'Provider `mine` cannot be asked: Invalid character in header content ["authorization"]. Check its key and its headers in config.toml.',
      "never",
      [],
    ]);
  });
});
