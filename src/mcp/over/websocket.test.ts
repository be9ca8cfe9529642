import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.js";
import { startEndpoint } from "../../../test/support/http/mcpEndpoint.js";
import { withEventNumber } from "./websocket.js";

const KEY = "codex-mcpd/event";

it.each<[string, unknown, unknown]>([
  [
    "an event of a turn",
    { jsonrpc: "2.0", method: "codex/event", params: { _meta: { requestId: 1 }, id: "1", msg: {} } },
    { jsonrpc: "2.0", method: "codex/event", params: { _meta: { [KEY]: 7, requestId: 1 }, id: "1", msg: {} } },
  ],
  [
    "a question",
    { id: 0, jsonrpc: "2.0", method: "elicitation/create", params: { message: "?" } },
    { id: 0, jsonrpc: "2.0", method: "elicitation/create", params: { message: "?", _meta: { [KEY]: 7 } } },
  ],
  [
    "an answer",
    { id: 1, jsonrpc: "2.0", result: { content: [], _meta: { own: true } } },
    { id: 1, jsonrpc: "2.0", result: { content: [], _meta: { own: true, [KEY]: 7 } } },
  ],
  [
    "an error",
    { id: 1, jsonrpc: "2.0", error: { code: -32601, message: "no" } },
    { id: 1, jsonrpc: "2.0", error: { code: -32601, message: "no" } },
  ],
  ["a batch", [{ id: 1, jsonrpc: "2.0", result: {} }], [{ id: 1, jsonrpc: "2.0", result: {} }]],
])("%s", (_, message, expected) => {
  expect(JSON.parse(withEventNumber(JSON.stringify(message), 7))).toEqual(expected);
});

it("the number is inserted into the text of an event without parsing it", () => {
  const text =
    '{"jsonrpc":"2.0","method":"codex/event","params":{"_meta":{"requestId":1},"id":"1","msg":{"delta":"\\u00e9 \\"_meta\\":{"}}}';
  expect(withEventNumber(text, 12)).toEqual(text.replace('"_meta":{', `"_meta":{"${KEY}":12,`));
});

it.each([{ params: {} }, { result: {} }])("an id is inserted beside the number, in %j", (body) => {
  const [holder = ""] = Object.keys(body);
  const told = JSON.parse(withEventNumber(JSON.stringify({ jsonrpc: "2.0", ...body }), 7, "7~.x")) as Record<string, { _meta: unknown }>;
  expect(told[holder]?._meta).toEqual({ [KEY]: 7, "codex-mcpd/eventId": "7~.x" });
});

it("an id is inserted into the text of an event too", () => {
  const text = '{"jsonrpc":"2.0","method":"codex/event","params":{"_meta":{"requestId":1},"id":"1","msg":{}}}';
  expect(JSON.parse(withEventNumber(text, 12, "12~.x"))).toMatchObject({
    params: { _meta: { [KEY]: 12, "codex-mcpd/eventId": "12~.x", requestId: 1 } },
  });
});

/** A server stops sending at this many unsent bytes. */
const CONGESTED_BYTES = 256 * 1024;
/** Together more than the system buffers between two sockets. */
const MANY = 130_000;
/** A masked frame whose mask is zero, so that the payload stays as it is. */
const frame = (opcode: number, payload: string) => Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0, ...Buffer.from(payload)]);
/** Far more turns of the event loop than it takes to read all frames a chunk at a time. */
const TURNS = 5_000;

it.each([
  ["pings", frame(9, "x".repeat(125))],
  ["requests", frame(1, JSON.stringify({ jsonrpc: "2.0", id: "x".repeat(80), method: "ping" }))],
  ["messages that are not JSON", frame(1, "{")],
])("a client that sends %s and reads nothing is not read either, until it reads", async (_, sent) => {
  await using endpoint = await startEndpoint();
  const upgraded = once(endpoint.http.server, "upgrade");
  using client = connectTo(new URL(endpoint.origin).port);
  const [, serverSide] = (await upgraded) as [unknown, Socket];
  await once(client.socket, "readable");
  const all = Buffer.concat(Array.from({ length: MANY }, () => sent));
  client.socket.write(all);
  await eventually("a full buffer", () => (serverSide.writableLength > CONGESTED_BYTES ? true : undefined));
  for (let turn = 0; turn < TURNS; turn++) await nextTurn();
  expect([serverSide.bytesRead < all.length, serverSide.writableLength < 2 * CONGESTED_BYTES]).toEqual([true, true]);
  const before = serverSide.bytesRead;
  client.socket.resume();
  await eventually("further reading", () => (serverSide.bytesRead > before ? true : undefined));
});

/** A connection that asks for a WebSocket and reads nothing yet. */
function connectTo(port: string): Disposable & { readonly socket: Socket } {
  const socket = connect(Number(port), "127.0.0.1").pause();
  const lines = [`Host: 127.0.0.1:${port}`, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
  socket.write(["GET /mcp HTTP/1.1", ...lines, `Sec-WebSocket-Key: ${"x".repeat(22)}==`, "", ""].join("\r\n"));
  return { socket, [Symbol.dispose]: () => socket.destroy() };
}
