import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handshake, notice, rpc, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket, type SocketClient, unnumbered } from "../support/http/httpSocketClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({ http: "max_body_mib = 0.01\nkeep_alive_seconds = 1\nwebsocket_linger_seconds = 30" });
});
afterAll(() => server?.[Symbol.asyncDispose]());

const open = (question?: Parameters<typeof openSocket>[1]) => openSocket(server.origin, question);

/** A socket whose client has shaken hands. */
async function greeted(): Promise<SocketClient> {
  const client = await open();
  client.send(handshake(0));
  await client.answerTo(0);
  return client;
}

describe.concurrent("a WebSocket", () => {
  it("speaks the subprotocol `mcp` and says which session it is", async () => {
    using client = await open();
    expect(client.socket.protocol).toBe("mcp");
    expect(await server.session(client.session)).toMatchObject({ transport: "websocket", streams: 1 });
  });

  it("may be opened without a subprotocol, at both addresses", async () => {
    for (const path of ["/", "/mcp"]) {
      using client = await open({ path, protocols: [] });
      client.send(rpc(1, "ping"));
      expect(await client.answerTo(1)).toMatchObject({ result: {} });
    }
  });

  it("carries one message per frame, each with its number", async () => {
    using client = await greeted();
    client.send(toolCall(1, { prompt: "!say hello you" }));
    const answer = await client.answerTo(1);
    expect(valueAt(answer, "result.structuredContent.content")).toBe("hello you");
    expect(client.numbers).toEqual(client.messages.map((_, at) => at + 1));
    expect(client.steps).toEqual(expect.arrayContaining(["session_configured", "agent_message", "task_complete"]));
  });

  it("answers an invalid message, and continues", async () => {
    using client = await greeted();
    client.socket.send("{not json");
    expect(await client.answerTo(null)).toMatchObject({ error: { code: -32700 } });
    client.socket.send(Buffer.from(JSON.stringify(rpc(5, "ping"))), { binary: true });
    await client.message("refusal of the binary frame", (message) => valueAt(message, "error.message") === "Messages are text frames");
    client.send(rpc(6, "ping"));
    await client.answerTo(6);
    expect(client.messages.filter(({ id }) => id === 5)).toEqual([]);
  });

  it("accepts batches only after the revision that has them was negotiated", async () => {
    using newer = await greeted();
    newer.send([rpc(1, "ping")]);
    expect(await newer.answerTo(null)).toMatchObject({ error: { code: -32600 } });
    using older = await open();
    older.send(handshake(0, { version: "2025-03-26" }));
    await older.answerTo(0);
    older.send([rpc(1, "ping"), notice("notifications/initialized"), rpc(2, "ping")]);
    const batch = await older.message("the batch", Array.isArray);
    expect(batch).toEqual([
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
    ]);
  });

  it("is closed when a frame is too big, and its session can be resumed", async () => {
    using client = await greeted();
    const { session } = client;
    client.send(rpc(1, "ping", { long: "x".repeat(20_000) }));
    expect(await client.close()).toMatchObject({ code: 1009 });
    using again = await open({ headers: { "mcp-session-id": session, "last-event-id": String(client.lastNumber) } });
    again.send(rpc(2, "ping"));
    expect(await again.answerTo(2)).toMatchObject({ result: {} });
  });

  it("is pinged, and closed if it does not answer", async () => {
    using lively = await greeted();
    using silent = await greeted();
    silent.socket.removeAllListeners("ping");
    // The library's automatic pong is not sent.
    silent.socket.pong = () => {};
    expect(await silent.close()).toMatchObject({ code: 1006 });
    await lively.wait("pings", () => (lively.pings >= 2 ? true : undefined));
    lively.send(rpc(1, "ping"));
    await lively.answerTo(1);
  });

  it("leaves a cancelled call without an answer, and its turn is aborted", async () => {
    using client = await greeted();
    client.send(toolCall("long", { prompt: "!hang" }));
    await client.step("user_message");
    client.send(notice("notifications/cancelled", { requestId: "long" }));
    await client.step("turn_aborted");
    client.send(rpc("after", "ping"));
    await client.answerTo("after");
    expect(client.messages.filter(({ id }) => id === "long")).toEqual([]);
  });

  it("separates two clients, even with equal ids", async () => {
    using one = await greeted();
    using two = await greeted();
    one.send(toolCall(7, { prompt: "!slow 10 10" }));
    two.send(toolCall(7, { prompt: "!say only two" }));
    expect(valueAt(await two.answerTo(7), "result.structuredContent.content")).toBe("only two");
    expect(valueAt(await one.answerTo(7), "result.structuredContent.content")).not.toBe("only two");
    const threads = (client: SocketClient) =>
      new Set(client.messages.map((message) => valueAt(message, "params._meta.threadId")).filter((id) => id !== undefined));
    expect([threads(one).size, threads(two).size]).toEqual([1, 1]);
    expect(threads(one)).not.toEqual(threads(two));
  });
});

describe.concurrent("a WebSocket that broke", () => {
  it.each(["headers", "query"])("is resumed by session id and event id or number in the %s, with each message once", async (where) => {
    using first = await greeted();
    first.send(toolCall(1, { prompt: "!slow 60 15" }));
    await first.step("agent_message_delta");
    first.socket.terminate();
    const { session, lastNumber, lastId } = first;
    await server.sessionWhere(session, (seen) => seen?.streams === 0);
    const place = { "mcp-session-id": session, "last-event-id": where === "headers" ? lastId : String(lastNumber) };
    using second = await open(where === "headers" ? { headers: place } : { path: `/mcp?${new URLSearchParams(place).toString()}` });
    await second.answerTo(1);
    expect(second.session).toBe(session);
    const all = [...first.messages, ...second.messages];
    expect([...first.numbers, ...second.numbers]).toEqual(all.map((_, at) => at + 1));
    const deltas = all.filter((message) => valueAt(message, "params.msg.type") === "agent_message_delta");
    expect(deltas.map((message) => valueAt(message, "params.msg.delta")).join("")).toBe(
      valueAt(all.at(-1), "result.structuredContent.content"),
    );
  });

  it("may be replaced before the server has noticed", async () => {
    using first = await greeted();
    using second = await open({ headers: { "mcp-session-id": first.session, "last-event-id": "0" } });
    expect(await first.close()).toMatchObject({ code: 1006 });
    expect((await second.answerTo(0))["id"]).toBe(0);
    expect(second.messages.map(unnumbered)).toEqual(first.messages.map(unnumbered));
  });

  it.each(["-1", "1e9", "x", "99999999"])("is not resumed at the unknown number %s", async (number) => {
    using client = await greeted();
    await expect(open({ headers: { "mcp-session-id": client.session, "last-event-id": number } })).rejects.toMatchObject({ status: 400 });
  });

  it("ends its session if the client does not return, however often it returned before", async () => {
    await using hasty = await startHttpServer({ http: "websocket_linger_seconds = 4" });
    using first = await openSocket(hasty.origin);
    const place = { "mcp-session-id": first.session, "last-event-id": "0" };
    first.socket.terminate();
    await hasty.sessionWhere(first.session, (seen) => seen?.streams === 0);
    using second = await openSocket(hasty.origin, { headers: place });
    await hasty.sessionWhere(first.session, (seen) => seen?.streams === 1);
    second.socket.terminate();
    await hasty.sessionWhere(first.session, (seen) => seen === undefined);
    await expect(openSocket(hasty.origin, { headers: place })).rejects.toMatchObject({ status: 404 });
  });
});

describe.concurrent("an upgrade", () => {
  it("of a foreign page is refused", async () => {
    await expect(open({ headers: { origin: "https://evil.example" } })).rejects.toMatchObject({ status: 403 });
  });

  it("under a foreign name is refused", async () => {
    await expect(open({ headers: { host: "evil.example" } })).rejects.toMatchObject({ status: 403 });
  });

  it("at another path than the endpoint is refused", async () => {
    await expect(open({ path: "/metrics" })).rejects.toMatchObject({ status: 404 });
  });

  it("with a token in the address is refused", async () => {
    await expect(open({ path: "/mcp?access_token=abc" })).rejects.toMatchObject({ status: 400 });
  });

  it("does not take over a session of plain HTTP, nor the other way round", async () => {
    const { session = "" } = await server.ask({ message: rpc(1, "ping") });
    await expect(open({ headers: { "mcp-session-id": session } })).rejects.toMatchObject({ status: 404 });
    using client = await greeted();
    const own = { "mcp-session-id": client.session };
    expect((await server.ask({ headers: own, message: rpc(1, "ping") })).status).toBe(404);
    expect((await server.ask({ headers: own })).status).toBe(404);
  });

  it("that is refused leaves no connection and no session behind, even if the client does not close its side", async () => {
    await using hasty = await startHttpServer({ http: "websocket_linger_seconds = 0" });
    for (const key of ["Origin: https://evil.example\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: no key"]) {
      const socket = connect({ port: hasty.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.write(
        `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${hasty.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n${key}\r\n\r\n`,
      );
      socket.resume();
      // This client never closes its side, so the server closes both.
      await once(socket, "end");
      // A write shows that the connection is gone: it is reset.
      const gone = once(socket, "error");
      const writing = setInterval(() => socket.write("x"), 20);
      await gone.finally(() => clearInterval(writing));
    }
    const { body } = await hasty.ask({ path: "/sessions" });
    expect(body).toEqual({ sessions: [] });
  });
});
