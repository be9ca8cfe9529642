import { describe, expect, it } from "vitest";
import { ask, openStream } from "../../../../test/support/http/httpClient.js";
import { RawSocket } from "../../../../test/support/http/httpRawSocket.js";
import { startEndpoint } from "../../../../test/support/http/mcpEndpoint.js";
import { stateless } from "../../../../test/support/http/statelessHttp.js";
import { invalidParams, RPC, RpcError } from "../../../jsonrpc/errors.js";
import { deferred } from "../../../lib/promises.js";
import { missingCapability, type StatelessMethod } from "../../stateless/request.js";

const METHODS: Readonly<Record<string, StatelessMethod>> = {
  "test/echo": async ({ params: { said } }) => ({ said }),
  "test/talk": async ({ peer }) => {
    peer.notify("notifications/told", { before: "the result" });
    return { done: true };
  },
  "test/needs": async () => {
    throw missingCapability("This needs a client with wings", { wings: {} });
  },
  "test/busy": async () => {
    throw new RpcError(RPC.busy, "try again later");
  },
  "test/refuse": async () => {
    throw invalidParams("`said` must be an object");
  },
  "test/break": async () => {
    throw new Error("a path that is not for clients");
  },
};

describe("a request without a session", () => {
  it("is answered by one body if its result comes first", async () => {
    await using endpoint = await startEndpoint({ statelessMethods: METHODS });
    const { status, headers, body } = await ask(endpoint.origin, stateless({ method: "test/echo", params: { said: "hello" } }));
    expect({ status, session: headers["mcp-session-id"], body }).toMatchObject({ status: 200, body: { id: 1, result: { said: "hello" } } });
    expect(headers["mcp-session-id"]).toBeUndefined();
  });

  it("is answered by a stream, the result last, if a message comes before it", async () => {
    await using endpoint = await startEndpoint({ statelessMethods: METHODS });
    using stream = await openStream(endpoint.origin, stateless({ method: "test/talk" }));
    expect(await stream.end()).toBe("gracefully");
    expect(stream.messages).toMatchObject([{ params: { before: "the result" } }, { id: 1, result: { done: true } }]);
  });

  it("gets its result alone if its client accepts no stream", async () => {
    await using endpoint = await startEndpoint({ statelessMethods: METHODS });
    const { headers, body } = await ask(endpoint.origin, stateless({ method: "test/talk", headers: { accept: "application/json" } }));
    expect({ type: headers["content-type"], body }).toMatchObject({ type: "application/json", body: { id: 1, result: { done: true } } });
  });

  it.each([
    ["an unknown method", "test/nothing", 404, RPC.methodNotFound],
    ["a client that lacks what the method needs", "test/needs", 400, -32021],
    ["a busy server", "test/busy", 429, RPC.busy],
    ["parameters that the method refuses", "test/refuse", 200, RPC.invalidParams],
  ])("has the status for %s", async (_, method, status, code) => {
    await using endpoint = await startEndpoint({ statelessMethods: METHODS });
    const reply = await ask(endpoint.origin, stateless({ method }));
    expect({ status: reply.status, body: reply.body }).toMatchObject({ status, body: { id: 1, error: { code } } });
  });

  it("whose headers contradict its body is refused before any method sees it", async () => {
    await using endpoint = await startEndpoint({ statelessMethods: METHODS });
    const question = stateless({ method: "test/echo", headers: { "mcp-method": "test/talk" } });
    const { status, body } = await ask(endpoint.origin, question);
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { code: -32020 } } });
  });

  it("that fails unexpectedly gets no text of the failure", async () => {
    await using endpoint = await startEndpoint({ statelessMethods: METHODS });
    const { body } = await ask(endpoint.origin, stateless({ method: "test/break" }));
    expect(body).toMatchObject({ id: 1, error: { code: RPC.internalError, message: "it failed" } });
    expect(endpoint.failures).toEqual(["test/break: a path that is not for clients"]);
  });

  it("is cancelled when its connection closes", async () => {
    const begun = deferred<AbortSignal>();
    const cancelled = deferred<void>();
    const hang: StatelessMethod = async ({ signal }) => {
      signal.addEventListener("abort", () => cancelled.resolve());
      begun.resolve(signal);
      await cancelled.promise;
      return {};
    };
    await using endpoint = await startEndpoint({ statelessMethods: { "test/hang": hang } });
    using socket = await RawSocket.open(endpoint.http.port);
    const { headers = {}, message } = stateless({ method: "test/hang" });
    const body = JSON.stringify(message);
    const lines = Object.entries({ ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    const head = lines.map(([name, value]) => `${name}: ${value}`).join("\r\n");
    socket.say(`POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${endpoint.http.port}\r\n${head}\r\n\r\n${body}`);
    const signal = await begun.promise;
    socket[Symbol.dispose]();
    await cancelled.promise;
    expect(signal.reason).toEqual(new Error("the client closed the connection"));
  });

  it("is disconnected if its client does not read the stream", async () => {
    const disconnected = deferred<void>();
    const flood: StatelessMethod = async ({ peer, signal }) => {
      while (!signal.aborted) {
        peer.notify("notifications/told", { text: "x".repeat(256 * 1024) });
        await (peer.congested() ?? new Promise(setImmediate));
      }
      return {};
    };
    await using endpoint = await startEndpoint({
      statelessMethods: { "test/flood": flood },
      stateless: { slowReaderMs: 50, disconnected: () => disconnected.resolve() },
    });
    using stream = await openStream(endpoint.origin, stateless({ method: "test/flood" }));
    stream.pause();
    await disconnected.promise;
    stream.resume();
    expect(await stream.end()).toBe("broken");
  });
});
