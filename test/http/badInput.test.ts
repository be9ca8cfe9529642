import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unknownTool } from "../support/callResults.js";
import { handshake, notice, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { postHead, RawSocket } from "../support/http/httpRawSocket.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({ http: "max_body_mib = 0.1" });
});
afterAll(() => server?.[Symbol.asyncDispose]());

const PING = rpc(1, "ping");
const error = (code: number, id: unknown = null) => ({ jsonrpc: "2.0", id, error: expect.objectContaining({ code }) });

/** The first line of the server's response to these bytes. */
async function statusOf(said: string): Promise<string> {
  using socket = await RawSocket.open(server.port);
  socket.say(said);
  const heard = await socket.untilClosed();
  return heard.split("\r\n")[0] ?? "";
}

describe.concurrent("a body", () => {
  it.each(["{not json", "", "hello"])("that is not JSON (%j) is refused", async (body) => {
    expect(await server.ask({ headers: { "content-type": "application/json" }, body })).toMatchObject({ status: 400, body: error(-32700) });
  });

  it.each(["1", "null", '"ping"', "{}", '{"jsonrpc":"2.0","id":{},"method":"ping"}', '{"jsonrpc":"2.0","id":null,"method":"ping"}'])(
    "that is no message (%s) is refused",
    async (body) => {
      expect(await server.ask({ headers: { "content-type": "application/json" }, body })).toMatchObject({
        status: 400,
        body: error(-32600),
      });
    },
  );

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", undefined])("of type %s is refused", async (type) => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    expect(await server.ask({ method: "POST", headers, body: JSON.stringify(PING) })).toMatchObject({ status: 415, body: error(-32000) });
  });

  it("that is compressed is refused", async () => {
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    expect((await server.ask({ headers, body: JSON.stringify(PING) })).status).toBe(415);
  });

  it("of JSON with a charset, or in capitals, is accepted", async () => {
    for (const type of ["application/json; charset=utf-8", "Application/JSON"])
      expect((await server.ask({ headers: { "content-type": type }, body: JSON.stringify(PING) })).status).toBe(200);
  });

  it("that is too long is refused, by its declared and by its actual length", async () => {
    const body = JSON.stringify(rpc(1, "ping", { long: "x".repeat(200_000) }));
    const headers = { "content-type": "application/json" };
    expect(await server.ask({ headers, body })).toMatchObject({ status: 413, body: error(-32000) });
    expect(await server.ask({ headers: { ...headers, "transfer-encoding": "chunked" }, body })).toMatchObject({ status: 413 });
  });

  it("that never ends is refused as soon as it is too long, while its client is still sending", async () => {
    using socket = await RawSocket.open(server.port);
    socket.say(postHead(server.port, "Transfer-Encoding: chunked"));
    const piece = "x".repeat(16_384);
    const sending = setInterval(() => socket.say(`4000\r\n${piece}\r\n`), 5);
    const heard = await socket.untilClosed().finally(() => clearInterval(sending));
    expect(heard).toMatch(/^(HTTP\/1\.1 413 |$)/);
  });

  it("that claims two lengths, or a length and chunks, is refused", async () => {
    expect(await statusOf(`${postHead(server.port, "Content-Length: 3", "Content-Length: 4")}xxxx`)).toMatch(/ 400 /);
    expect(await statusOf(`${postHead(server.port, "Content-Length: 3", "Transfer-Encoding: chunked")}0\r\n\r\n`)).toMatch(/ 400 /);
  });

  it("that its client breaks off has no effect on others", async () => {
    using socket = await RawSocket.open(server.port);
    socket.say(`${postHead(server.port, "Content-Length: 100")}{"jsonrpc"`);
    socket.finishSaying();
    expect(await socket.untilClosed()).not.toMatch(/ 200 /);
    expect((await server.ask({ message: PING })).status).toBe(200);
  });
});

describe.concurrent("a request", () => {
  it.each([
    [rpc(1, "no/such/method"), -32601],
    [rpc(1, "resources/list"), -32601],
    [rpc(1, "tools/call", {}), -32602],
    [rpc(1, "logging/setLevel", { level: "loud" }), -32602],
    [rpc(1, "initialize", { protocolVersion: 5 }), -32602],
  ])("%j is answered with %i and status 200", async (message, code) => {
    expect(await server.ask({ message })).toMatchObject({ status: 200, body: error(code, 1) });
  });

  it("for an unknown tool or with bad arguments is a result that says so", async () => {
    expect((await server.ask({ message: toolCall(1, {}, "nonsense") })).body).toMatchObject({
      id: 1,
      result: unknownTool("nonsense"),
    });
    expect((await server.ask({ message: toolCall(1, { prompt: 5 }) })).body).toMatchObject({ id: 1, result: { isError: true } });
  });

  it("under an id that is in use is refused while the first continues", async () => {
    using watching = await server.stream({});
    const own = { "mcp-session-id": watching.session ?? "" };
    const first = server.ask({ headers: own, message: toolCall(7, { prompt: "!slow 100 30" }) });
    await watching.step("user_message");
    expect(await server.ask({ headers: own, message: rpc(7, "ping") })).toMatchObject({ status: 200, body: error(-32600, 7) });
    expect((await server.ask({ headers: own, message: rpc("7", "ping") })).body).toMatchObject({ id: "7", result: {} });
    expect(valueAt((await first).body, "result.isError")).toBeUndefined();
    expect((await server.ask({ headers: own, message: rpc(7, "ping") })).body).toMatchObject({ id: 7, result: {} });
  });

  it.each(["PUT", "PATCH", "HEAD", "TRACE"])("by %s is refused", async (method) => {
    const { status, headers } = await server.ask({ method });
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: "GET, POST, DELETE, OPTIONS" });
  });

  it("by OPTIONS gets the allowed methods", async () => {
    expect((await server.ask({ method: "OPTIONS" })).status).toBe(204);
  });

  it.each(["/nothing", "/mcp/", "//", "/MCP", "/..%2fmcp"])("for %s finds nothing", async (path) => {
    expect((await server.ask({ path, message: PING })).status).toBe(404);
  });
});

describe.concurrent("batches", () => {
  it("are served after the revision that has them was negotiated, and answered by one array", async () => {
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0, { version: "2025-03-26" }) });
    const headers = { ...SPEC, "mcp-protocol-version": "2025-03-26", "mcp-session-id": session };
    const { status, body } = await server.ask({ headers, message: [rpc(1, "ping"), notice("x"), rpc(2, "no/such/method")] });
    expect([status, body]).toEqual([200, [{ jsonrpc: "2.0", id: 1, result: {} }, error(-32601, 2)]]);
    expect((await server.ask({ headers, message: [notice("x"), notice("y")] })).status).toBe(202);
    expect(await server.ask({ headers, message: [] })).toMatchObject({ status: 400, body: error(-32600) });
    expect((await server.ask({ headers, message: [rpc(1, "ping"), rpc(1, "ping")] })).body).toEqual(error(-32600, 1));
  });

  it("are refused otherwise", async () => {
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
    const headers = { ...SPEC_LATER, "mcp-session-id": session };
    expect(await server.ask({ headers, message: [rpc(1, "ping")] })).toMatchObject({ status: 400, body: error(-32600) });
  });
});

describe.concurrent("where a request comes from", () => {
  it.each(["evil.example", "127.0.0.1.evil.example", "evil.example:80", "[::ffff:8.8.8.8]", "0"])(
    "is checked first: Host %s gets 403, whatever else is wrong",
    async (host) => {
      expect(await server.ask({ headers: { host }, body: "{" })).toMatchObject({ status: 403, body: error(-32000) });
    },
  );

  it.each(["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://"])(
    "is checked first: Origin %s gets 403",
    async (origin) => {
      for (const question of [{ message: PING }, {}, { method: "DELETE" }, { path: "/sessions" }, { path: "/healthz" }])
        expect((await server.ask({ headers: { origin }, ...question })).status).toBe(403);
    },
  );

  it("is accepted from a page of this machine", async () => {
    expect((await server.ask({ headers: { origin: "http://localhost:5173" }, message: PING })).status).toBe(200);
  });
});

describe.concurrent("tokens", () => {
  it("in the URL are refused, even if none is needed", async () => {
    for (const query of ["access_token=abc", "token=abc"])
      expect((await server.ask({ path: `/mcp?${query}`, message: PING })).status).toBe(400);
  });

  it("that are missing or wrong get 401 with what to send", async () => {
    await using guarded = await startHttpServer({ args: ["--token", "0123456789abcdef"] });
    const ping = (headers: Readonly<Record<string, string>>) => guarded.ask({ headers, message: PING });
    const refusals = [
      await ping({}),
      await ping({ authorization: "Bearer wrong-wrong-wrong" }),
      await ping({ authorization: "Basic abc" }),
    ];
    for (const { status, headers } of refusals)
      expect({ status, how: headers["www-authenticate"] }).toEqual({ status: 401, how: expect.stringMatching(/^Bearer/) });
    expect((await ping({ authorization: "bearer 0123456789abcdef" })).status).toBe(200);
    expect(guarded.running.errorLines.join("\n")).not.toContain("0123456789abcdef");
  });
});

describe.concurrent("headers", () => {
  it("by the thousand, or of many kilobytes, are refused or ignored without effect on others", async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `X-${at}: 1`);
    expect(await statusOf(`${postHead(server.port, "Connection: close", "Content-Length: 2", ...many)}{}`)).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(await statusOf(postHead(server.port, `X: ${"y".repeat(100_000)}`))).toMatch(/^(HTTP\/1\.1 431 |$)/);
    expect((await server.ask({ message: PING })).status).toBe(200);
  });

  it.each([
    "GARBAGE\r\n\r\n",
    "\x16\x03\x01\x00",
    "GET http://evil.example/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n",
  ])("that are invalid (%j) are refused", async (said) => {
    expect(await statusOf(said)).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});
