import { getEventListeners, once } from "node:events";
import http from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { bodyOf, type Loopback, startLoopback } from "../../../../test/support/http/loopback.js";
import { proxyFor, sendRequest } from "./responses.js";

interface Exchange {
  readonly status: number | undefined;
  readonly text: string;
}

async function post(url: string, env: NodeJS.ProcessEnv = {}): Promise<Exchange> {
  const { signal } = new AbortController();
  const response = await sendRequest(new URL(url), { method: "POST", headers: {}, body: "question", env, signal });
  return { status: response.statusCode, text: await bodyOf(response) };
}

function startEcho(): Promise<Loopback> {
  return startLoopback(async (request, response) => void response.end(`echo ${request.url} ${await bodyOf(request)}`));
}

/** A company's proxy: forwards requests and records them. */
async function startForwardProxy(seen: string[]): Promise<Loopback> {
  return startLoopback((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const onward = http.request(request.url ?? "", { method: request.method ?? "GET", headers: request.headers, agent: false });
    onward.once("response", (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502)));
    request.pipe(onward);
  });
}

/** Accepts a tunnel and keeps the first bytes sent through it. */
async function startTunnelProxy(seen: string[]): Promise<Loopback & { readonly firstBytes: Promise<Buffer> }> {
  const proxy = await startLoopback((_request, response) => void response.writeHead(405).end());
  const firstBytes = new Promise<Buffer>((resolve) => {
    proxy.server.on("connect", (request: http.IncomingMessage, socket: Socket) => {
      seen.push(`CONNECT ${request.url}`);
      socket.on("error", () => undefined);
      socket.once("data", (bytes: Buffer) => {
        resolve(bytes);
        socket.destroy();
      });
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    });
  });
  return Object.assign(proxy, { firstBytes });
}

describe("a request to a plain address", () => {
  it("uses no proxy if none is named", async () => {
    await using target = await startEcho();
    expect(await post(`${target.origin}/path?q=1`)).toEqual({ status: 200, text: "echo /path?q=1 question" });
  });

  it.each(["HTTP_PROXY", "http_proxy", "ALL_PROXY"])("goes through the proxy that %s names, on kept connections", async (name) => {
    const seen: string[] = [];
    await using target = await startEcho();
    await using proxy = await startForwardProxy(seen);
    const env = { [name]: proxy.origin };
    for (let asked = 0; asked < 3; asked++)
      expect(await post(`${target.origin}/path`, env)).toEqual({ status: 200, text: "echo /path question" });
    expect(seen).toEqual(Array.from({ length: 3 }, () => `POST ${target.origin}/path`));
    expect(proxy.connections).toBe(1);
  });

  it("goes through a proxy that is named without a scheme", async () => {
    const seen: string[] = [];
    await using target = await startEcho();
    await using proxy = await startForwardProxy(seen);
    expect((await post(target.origin, { HTTP_PROXY: new URL(proxy.origin).host })).status).toBe(200);
    expect(seen).toEqual([`POST ${target.origin}/`]);
  });

  it.each(["127.0.0.1", "example.org, 127.0.0.1", "*"])("bypasses the proxy if NO_PROXY is %s", async (exceptions) => {
    const seen: string[] = [];
    await using target = await startEcho();
    await using proxy = await startForwardProxy(seen);
    expect((await post(target.origin, { HTTP_PROXY: proxy.origin, NO_PROXY: exceptions })).status).toBe(200);
    expect(seen).toEqual([]);
  });

  it("does not use a proxy for secure addresses", async () => {
    await using target = await startEcho();
    expect((await post(target.origin, { HTTPS_PROXY: "http://127.0.0.1:9" })).status).toBe(200);
  });

  it("fails if the proxy is unreachable", async () => {
    await using target = await startEcho();
    const gone = await startEcho();
    await gone[Symbol.asyncDispose]();
    await expect(post(target.origin, { HTTP_PROXY: gone.origin })).rejects.toThrow("ECONNREFUSED");
  });
});

describe("a request to a secure address", () => {
  it.each([
    ["with a scheme", (origin: string) => origin],
    ["without one", (origin: string) => new URL(origin).host],
  ])("asks the proxy for a tunnel and speaks TLS through it, the proxy being named %s", async (_how, name) => {
    const seen: string[] = [];
    await using proxy = await startTunnelProxy(seen);
    await expect(post("https://model.invalid/v1/responses", { HTTPS_PROXY: name(proxy.origin) })).rejects.toThrow();
    const TLS_HANDSHAKE = 0x16;
    expect([seen, (await proxy.firstBytes)[0]]).toEqual([["CONNECT model.invalid:443"], TLS_HANDSHAKE]);
  });

  it("passes on a proxy's error response", async () => {
    await using proxy = await startLoopback(() => undefined);
    proxy.server.on("connect", (_request: unknown, socket: Socket) => {
      socket.end("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 9\r\n\r\nwho asks?");
    });
    expect(await post("https://model.invalid/", { HTTPS_PROXY: proxy.origin })).toEqual({ status: 407, text: "who asks?" });
  });
});

it.each<[string, NodeJS.ProcessEnv, string]>([
  ["http://a.org", {}, ""],
  ["http://a.org", { http_proxy: "http://p:1", HTTP_PROXY: "http://q:1" }, "http://p:1"],
  ["https://a.org", { HTTP_PROXY: "http://p:1" }, ""],
  ["https://a.org", { HTTP_PROXY: "http://p:1", ALL_PROXY: "http://q:1" }, "http://q:1"],
  ["https://a.org", { HTTPS_PROXY: "https://p:1" }, "https://p:1"],
  ["https://a.org", { HTTPS_PROXY: "p:1" }, "http://p:1"],
  ["https://a.org", { ALL_PROXY: "http://p:1", NO_PROXY: "b.org,A.ORG" }, ""],
  ["https://a.org", { ALL_PROXY: "http://p:1", NO_PROXY: "org b.a.org" }, "http://p:1"],
  ["https://b.a.org", { ALL_PROXY: "http://p:1", NO_PROXY: "a.org" }, "http://p:1"],
  ["https://b.a.org", { ALL_PROXY: "http://p:1", NO_PROXY: ".a.org" }, ""],
  ["https://b.a.org", { ALL_PROXY: "http://p:1", no_proxy: "*.a.org" }, ""],
  ["https://a.org", { ALL_PROXY: "http://p:1", NO_PROXY: ".a.org" }, "http://p:1"],
  ["https://a.org", { ALL_PROXY: "http://p:1", NO_PROXY: "*" }, ""],
  ["https://a.org", { ALL_PROXY: "http://p:1", NO_PROXY: "a.org:443" }, ""],
  ["https://a.org:8443", { ALL_PROXY: "http://p:1", NO_PROXY: "a.org:443" }, "http://p:1"],
  ["http://[::1]:8080", { ALL_PROXY: "http://p:1", NO_PROXY: "::1" }, ""],
  ["http://[::1]:8080", { ALL_PROXY: "http://p:1", NO_PROXY: "[::1]:8080" }, ""],
  ["http://[::1]:8081", { ALL_PROXY: "http://p:1", NO_PROXY: "[::1]:8080" }, "http://p:1"],
])("the way to %s with %j leads through %j", (url, env, proxy) => {
  expect(proxyFor(new URL(url), env)).toBe(proxy);
});

describe("a request that is aborted", () => {
  const reason = new Error("enough");

  it("while a proxy never finishes its tunnel rejects with the reason", async () => {
    await using proxy = await startLoopback(() => undefined);
    const abort = new AbortController();
    proxy.server.on("connect", (_request: unknown, socket: Socket) => {
      socket.on("error", () => undefined);
      abort.abort(reason);
    });
    const env = { HTTPS_PROXY: proxy.origin };
    const url = new URL("https://model.invalid/");
    await expect(sendRequest(url, { method: "GET", headers: {}, env, signal: abort.signal })).rejects.toBe(reason);
  });

  it.each(["http://127.0.0.1:9", "https://model.invalid"])("before it begins is not begun: %s", async (address) => {
    const env = { HTTPS_PROXY: "http://127.0.0.1:9" };
    await expect(sendRequest(new URL(address), { method: "GET", headers: {}, env, signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
  });

  it("leaves no listener on the signal of a thread with many requests", async () => {
    await using target = await startEcho();
    const { signal } = new AbortController();
    const response = await sendRequest(new URL(target.origin), { method: "GET", headers: {}, env: {}, signal });
    response.resume();
    await once(response, "close");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
