import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { RawSocket } from "../../test/support/http/httpRawSocket.js";
import { startLoopback } from "../../test/support/http/loopback.js";
import { deferred } from "../lib/promises.js";
import { SCOPE_WORDS } from "../server/network.js";
import { openAccessControl } from "./accessControl.js";
import { sendNothing } from "./answers.js";
import { OpenRequests } from "./connections.js";
import { HttpProblem } from "./problem.js";
import { type HttpMount, Router } from "./router.js";
import { type HttpServer, type HttpServerOptions, openHttpServer } from "./server.js";

interface Started extends AsyncDisposable, HttpServer {
  readonly served: string[];
  readonly failures: string[];
}

async function start(mounts: readonly HttpMount<string>[], options: Partial<HttpServerOptions<string>> = {}): Promise<Started> {
  const served: string[] = [];
  const failures: string[] = [];
  const problemText = ({ status, message }: HttpProblem) => JSON.stringify({ status, message });
  const access = await openAccessControl({
    host: "127.0.0.1",
    tellsUsers: true,
    scopes: SCOPE_WORDS,
    resourcePath: "/",
    problemText,
    report: () => {},
  });
  const http = await openHttpServer<string>({
    host: "127.0.0.1",
    ports: [0],
    timeouts: { headersMs: 10_000, requestMs: 20_000, readingMs: 10_000 },
    access,
    callerOf: ({ principal }) => principal,
    router: new Router(mounts, "everything is elsewhere"),
    open: new OpenRequests({ limit: 100 }),
    problemText,
    served: ({ method, route, status }) => served.push(`${method} ${route} ${status}`),
    refused: () => {},
    failed: (what, error) => {
      failures.push(`${what}: ${String(error)}`);
      return "it failed";
    },
    ...options,
  });
  return {
    ...http,
    served,
    failures,
    async [Symbol.asyncDispose]() {
      await Promise.all([http.close(), access.close()]);
    },
  };
}

function get({ port }: HttpServer, path = "/"): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: "close" } });
}

const HELLO: HttpMount<string> = {
  path: "/",
  methods: { GET: ({ response, caller }) => void response.end(`hello ${caller}`) },
};

describe("a listening server", () => {
  it("hands admitted requests to their handlers, and reports each when it is complete", async () => {
    await using server = await start([HELLO]);
    expect(await (await get(server)).text()).toBe("hello local");
    expect(await (await get(server, "/nothing")).json()).toMatchObject({ status: 404 });
    await expect.poll(() => server.served).toEqual(["GET / 200", "GET other 404"]);
  });

  it("takes the next port when one is in use, and says what to do when it was the last", async () => {
    await using taken = await startLoopback((_request, response) => void response.end());
    const port = Number(new URL(taken.origin).port);
    await using server = await start([HELLO], { ports: [port, 0] });
    expect(server.port).not.toBe(port);
    await expect(start([HELLO], { ports: [port] })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: the port is in use; choose another with --port, or 0 for any`,
    );
  });

  it.each([
    ["at once", () => Promise.reject(new Error("secret"))],
    [
      "by throwing",
      () => {
        throw new Error("secret");
      },
    ],
  ])("answers 500 without the error's text when a handler fails %s", async (_, handler) => {
    await using server = await start([{ path: "/", methods: { GET: handler } }]);
    const response = await get(server);
    expect({ status: response.status, body: await response.json() }).toEqual({ status: 500, body: { status: 500, message: "it failed" } });
    expect(server.failures).toEqual(["an HTTP request: Error: secret"]);
  });

  it("breaks the connection when a handler fails in the middle of its response", async () => {
    const half: HttpMount<string> = {
      path: "/",
      methods: {
        GET: async ({ response }) => {
          response.writeHead(200, { "content-length": 100 }).write("half");
          throw new Error("too late");
        },
      },
    };
    await using server = await start([half]);
    await expect(get(server).then((response) => response.text())).rejects.toThrow(TypeError);
    expect(server.failures).toEqual(["an HTTP request: Error: too late"]);
  });

  it("answers with a handler's own problem, in the server's format", async () => {
    const refuse: HttpMount<string> = {
      path: "/",
      methods: {
        GET: () => {
          throw new HttpProblem(409, "not now", { "retry-after": "3" });
        },
      },
    };
    await using server = await start([refuse]);
    const response = await get(server);
    expect([response.status, response.headers.get("retry-after"), await response.json()]).toEqual([
      409,
      "3",
      { status: 409, message: "not now" },
    ]);
    expect(server.failures).toEqual([]);
  });

  it("refuses a principal's further requests when too many are open, and serves again when one has ended", async () => {
    const released = deferred<void>();
    const begun = deferred<void>();
    const hold: HttpMount<string> = {
      path: "/hold",
      methods: {
        GET: async ({ response }) => {
          begun.resolve();
          await released.promise;
          response.end("held");
        },
      },
    };
    await using server = await start([HELLO, hold], { open: new OpenRequests({ limit: 1, reserve: 0 }) });
    const held = get(server, "/hold");
    await begun.promise;
    const refused = await get(server);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    released.resolve();
    expect(await (await held).text()).toBe("held");
    await expect.poll(async () => (await get(server)).status).toBe(200);
  });

  it("lets running responses end when it stops accepting, and takes no new connection", async () => {
    const released = deferred<void>();
    const begun = deferred<void>();
    const hold: HttpMount<string> = {
      path: "/",
      methods: {
        GET: async ({ response }) => {
          begun.resolve();
          await released.promise;
          response.end("held");
        },
      },
    };
    await using server = await start([hold]);
    const held = get(server);
    await begun.promise;
    server.stopAccepting();
    const refused = connect({ port: server.port, host: "127.0.0.1" });
    const [error] = await once(refused, "error");
    expect(error).toMatchObject({ code: "ECONNREFUSED" });
    released.resolve();
    expect(await (await held).text()).toBe("held");
  });
});

describe("an upgrade", () => {
  const UPGRADE = (port: number, path: string) =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;

  it("is handed to the handler of its path, with its caller", async () => {
    const taken = deferred<string>();
    const echo: HttpMount<string> = {
      path: "/echo",
      methods: {},
      upgrade: ({ socket, caller }) => {
        taken.resolve(caller);
        socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\nhello");
      },
    };
    await using server = await start([echo]);
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.write(UPGRADE(server.port, "/echo"));
    expect(await text(socket)).toContain("101 Switching Protocols");
    expect(await taken.promise).toBe("local");
  });

  it("of another path is refused with an ordinary response, and the connection ends", async () => {
    await using server = await start([HELLO]);
    using socket = await RawSocket.open(server.port);
    socket.say(UPGRADE(server.port, "/nowhere"));
    const said = await socket.untilClosed();
    expect(said).toMatch(/^HTTP\/1\.1 404 Refused\r\n/);
    expect(said).toContain('{"status":404,"message":"WebSocket is not served here"}');
  });

  it("whose handler fails is closed, and the failure is reported", async () => {
    const broken: HttpMount<string> = {
      path: "/",
      methods: {},
      upgrade: () => {
        throw new Error("secret");
      },
    };
    await using server = await start([broken]);
    using socket = await RawSocket.open(server.port);
    socket.say(UPGRADE(server.port, "/"));
    expect(await socket.untilClosed()).toBe("");
    expect(server.failures).toEqual(["a WebSocket upgrade: Error: secret"]);
  });
});

it("a response without a body has no length to wait for", async () => {
  await using server = await start([{ path: "/", methods: { GET: ({ response }) => sendNothing(response, { status: 204 }) } }]);
  const response = await get(server);
  expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([204, null, ""]);
});
