import { describe, expect, it } from "vitest";
import { decodeEvent } from "./decode.js";
import { EventReader } from "./eventReader.js";

const TYPE = "response.output_text.delta";
const FIRST = { type: TYPE, item_id: "msg_1", delta: "first" };

/** What is read of the last event, after a first one that a reader may compare it with. */
function readAfterFirst(json: string): unknown {
  const reader = new EventReader();
  expect(reader.read(JSON.stringify(FIRST))).toEqual({ type: "textDelta", itemId: "msg_1", delta: "first" });
  return reader.read(json);
}

describe("a piece of text that follows another", () => {
  it.each([
    { delta: "w1 " },
    { delta: "" },
    { delta: "twelve chars" },
    { delta: "thirteen char" },
    { delta: "a text that is longer than most" },
    { delta: 'he said "no"' },
    { delta: "a\nb" },
    { delta: "back\\slash" },
    { delta: "{" },
    { delta: "}" },
    { delta: "ä€😀" },
    { delta: "x", item_id: "msg_2" },
    { delta: "x", item_id: 'msg_"1' },
    { delta: "x", item_id: undefined },
    { delta: 7 },
    { delta: "x", logprobs: [], obfuscation: "abc" },
    { logprobs: [{ delta: "inner", item_id: "msg_1" }], delta: "outer" },
    { logprobs: [{ token: "a" }], delta: "outer" },
    { delta: undefined },
  ])("%j is read as if it were parsed", (fields) => {
    for (const event of [
      { type: TYPE, item_id: "msg_1", ...fields },
      { type: TYPE, sequence_number: 4, ...fields, item_id: "item_id" in fields ? fields.item_id : "msg_1", output_index: 0 },
      { item_id: "msg_1", ...fields, type: TYPE },
    ])
      for (const space of [undefined, 1]) expect(readAfterFirst(JSON.stringify(event, null, space))).toEqual(decodeEvent(event));
  });

  it.each([
    `{"type":"${TYPE}","item_id":"msg_1","delta":"x`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"x}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"x"`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":}`,
    "[DONE]",
    "",
    "{",
    "null",
  ])("%s is skipped", (json) => {
    expect(readAfterFirst(json)).toBeUndefined();
  });

  it.each([
    `{"type":"${TYPE}","item_id":"msg_1","delta":"a","delta":"b"}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"a","delta":7}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"a","delta" : "b"}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"a","item_id":"msg_2"}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"a","type":"response.done"}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"delta"}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"type"}`,
    `{"type":"${TYPE}","item_id":"msg_1","delta":"a"} more}`,
    `{"type":"${TYPE}","delta":"a"}`,
  ])("%s is read as if it were parsed, too", (json) => {
    let parsed: unknown;
    try {
      parsed = decodeEvent(JSON.parse(json));
    } catch {
      parsed = undefined;
    }
    expect(readAfterFirst(json)).toEqual(parsed);
  });

  it("belongs to the item it names, when items take turns", () => {
    const reader = new EventReader();
    const read = (item_id: string, delta: string) => reader.read(JSON.stringify({ type: TYPE, item_id, delta }));
    expect([read("a", "1"), read("a", "2"), read("b", "3"), read("a", "4"), read("b", "5")]).toEqual(
      ["a1", "a2", "b3", "a4", "b5"].map(([itemId, delta]) => ({ type: "textDelta", itemId, delta })),
    );
  });
});
