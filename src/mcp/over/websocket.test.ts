import { expect, it } from "vitest";
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
