import { once } from "node:events";
import { IncomingMessage, request as send } from "node:http";
import { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { RawSocket } from "../../test/support/http/httpRawSocket.js";
import { startLoopback } from "../../test/support/http/loopback.js";
import { deferred } from "../lib/promises.js";
import { RequestBodies } from "./body.js";
import { HttpProblem } from "./problem.js";

/** A server that answers with the body that it has read, or with the problem. */
function startReader(maxBytes = 100) {
  const bodies = new RequestBodies(maxBytes);
  return startLoopback(async (request, response) => {
    try {
      response.end(await bodies.read(request, String(request.headers["x-principal"])));
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error;
      response.writeHead(error.status, error.headers).end(error.message);
    }
  });
}

function post(origin: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(origin, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
}

it("reads a body that comes in pieces, even through the middle of a character", async () => {
  await using server = await startReader();
  const sent = send(server.origin, { method: "POST", agent: false, headers: { "content-type": "application/json" } });
  const answered = once(sent, "response");
  const bytes = Buffer.from('{"a":"é"}');
  const middle = bytes.indexOf(0xc3) + 1;
  await new Promise((resolve) => sent.write(bytes.subarray(0, middle), resolve));
  sent.end(bytes.subarray(middle));
  const [response] = await answered;
  expect(await text(response)).toBe('{"a":"é"}');
});

it.each<[string, Readonly<Record<string, string>>, number]>([
  ["text that is not declared as JSON", { "content-type": "text/plain" }, 415],
  ["no declared type", { "content-type": "" }, 415],
  ["a type that only begins like JSON", { "content-type": "application/jsonp" }, 415],
  ["an encoding", { "content-encoding": "gzip" }, 415],
  ["JSON with a character set", { "content-type": "application/json; charset=utf-8" }, 200],
  ["JSON in capitals", { "content-type": "Application/JSON" }, 200],
])("a body with %s", async (_, headers, status) => {
  await using server = await startReader();
  expect((await post(server.origin, "{}", headers)).status).toBe(status);
});

it("a body whose declared length is too long is refused before it is read, and the connection is closed", async () => {
  await using server = await startReader(100);
  using socket = await RawSocket.open(Number(new URL(server.origin).port));
  socket.say("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 101\r\n\r\n");
  expect(await socket.untilClosed()).toMatch(/^HTTP\/1\.1 413 /);
});

it("a body without a length is refused when it becomes too long", async () => {
  await using server = await startReader(100);
  using socket = await RawSocket.open(Number(new URL(server.origin).port));
  socket.say("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
  socket.say(`80\r\n${"x".repeat(0x80)}\r\n`);
  expect(await socket.untilClosed()).toContain("The body is longer than 100 bytes, which is this server's limit");
});

it("a body of just the limit is read", async () => {
  await using server = await startReader(100);
  expect(await (await post(server.origin, "x".repeat(100))).text()).toBe("x".repeat(100));
});

it("a connection that breaks in the middle is an error, not a body", async () => {
  const problem = deferred<unknown>();
  await using server = await startLoopback(async (request) => {
    await new RequestBodies(100).read(request, "ada").catch((error: unknown) => problem.resolve(error));
  });
  using socket = await RawSocket.open(Number(new URL(server.origin).port));
  socket.say('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"half":');
  await new Promise(setImmediate);
  socket[Symbol.dispose]();
  expect(await problem.promise).toMatchObject({ status: 400, message: "The body ended early" });
});

it("large bodies on their way take a limited memory, and those of one principal leave room for others", async () => {
  const largest = 32 * 1024 * 1024;
  const bodies = new RequestBodies(largest);
  const begin = (principal: string, bytes: number) => {
    const request = new IncomingMessage(new Socket());
    request.headers = { "content-type": "application/json" };
    const read = bodies.read(request, principal);
    request.push(Buffer.alloc(bytes, "x"));
    return { request, read };
  };
  const end = async ({ request, read }: ReturnType<typeof begin>) => {
    request.push(null);
    return (await read).length;
  };
  const [first, second, ...others] = Array.from({ length: 4 }, () => begin("ada", largest));
  await new Promise(setImmediate);
  await expect(begin("ada", 100_000).read).rejects.toMatchObject({ status: 429, headers: { connection: "close" } });
  expect(await end(begin("ada", 60_000))).toBe(60_000);
  expect(await end(begin("bob", largest))).toBe(largest);
  expect(first && (await end(first))).toBe(largest);
  expect(await end(begin("ada", largest))).toBe(largest);
  second?.request.destroy(new Error("gone"));
  await expect(second?.read).rejects.toMatchObject({ status: 400 });
  const again = [begin("ada", largest), begin("ada", largest)];
  expect(await Promise.all([...again, ...others].map(end))).toEqual([largest, largest, largest, largest]);
});
