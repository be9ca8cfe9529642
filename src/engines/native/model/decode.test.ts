import { createParser } from "eventsource-parser";
import { describe, expect, it } from "vitest";
import { ModelFailure } from "./client.js";
import { decodeEvent, EventReader, EventStreamReader } from "./decode.js";

function dataOf(pieces: readonly string[]): string[] {
  const data: string[] = [];
  const reader = new EventStreamReader((one) => data.push(one));
  for (const piece of pieces) reader.feed(piece);
  return data;
}

function dataByLibrary(text: string): string[] {
  const data: string[] = [];
  createParser({ onEvent: (event) => data.push(event.data) }).feed(text);
  return data;
}

/** Splits the text into pieces of up to `most` characters; the same seed gives the same pieces. */
function cut(text: string, most: number, seed: number): string[] {
  const pieces: string[] = [];
  let state = seed;
  for (let at = 0; at < text.length; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const length = 1 + (state % most);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

describe("the data of a stream's events", () => {
  it.each([
    ["one event", "data: one\n\n", ["one"]],
    ["with its name and its id", "event: name\nid: 1\nretry: 5\ndata: one\n\ndata: two\n\n", ["one", "two"]],
    ["no space behind the colon", "data:one\n\ndata:  two\n\n", ["one", " two"]],
    ["several lines", "data: one\ndata: two\ndata:\ndata\n\n", ["one\ntwo\n\n"]],
    ["empty data", "data\n\ndata:\n\n", ["", ""]],
    ["comments and unknown fields", ": comment\nother: x\ndatas: y\ndat\n\ndata: one\n\n", ["one"]],
    ["empty lines", "\n\n\ndata: one\n\n\n\n", ["one"]],
    ["carriage returns", "data: one\r\n\r\ndata: two\r\rdata: three\n\r\n", ["one", "two", "three"]],
    ["a mark at the beginning", "\uFEFFdata: one\n\ndata: \uFEFFtwo\n\n", ["one", "\uFEFFtwo"]],
    ["an unfinished event", "data: one\n\ndata: two\n", ["one"]],
    ["an unfinished line", "data: one\n\ndata: tw", ["one"]],
  ])("%s, in one piece or in many", (_, text, data) => {
    expect(dataOf([text])).toEqual(data);
    expect(dataOf([...text])).toEqual(data);
  });

  it("is what eventsource-parser finds, wherever the pieces end", () => {
    const lines = ["data: {}", "data:x", "data", "event: a", ": c", "id: 7", "", "", "data: ä€😀", "other"];
    for (let seed = 1; seed < 200; seed++) {
      let state = seed;
      const next = (below: number) => {
        state = (state * 48_271) % 2_147_483_647;
        return state % below;
      };
      const ends = seed % 2 === 0 ? ["\n"] : ["\n", "\r\n"];
      const text = Array.from({ length: 60 }, () => `${lines[next(lines.length)]}${ends[next(ends.length)]}`).join("");
      expect(dataOf(cut(text, 7, seed)), text).toEqual(dataByLibrary(text));
    }
  });

  it("is read in linear time if a line of many megabytes arrives in small pieces", () => {
    const piece = "x".repeat(1_000);
    const data: string[] = [];
    const reader = new EventStreamReader((one) => data.push(one));
    reader.feed("data: ");
    for (let count = 0; count < 20_000; count++) reader.feed(piece);
    reader.feed("\n\n");
    expect(data.map(({ length }) => length)).toEqual([20_000_000]);
  });
});

const TYPE = "response.output_text.delta";
const FIRST = { type: TYPE, item_id: "msg_1", delta: "first" };

/** The decoded form of an event that follows another one, with which the decoder may compare it. */
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

  it("has no half of a character, which strict readers of JSON refuse", () => {
    expect(readAfterFirst(`{"type":"${TYPE}","item_id":"msg_1","delta":"a\\ud83d"}`)).toMatchObject({ delta: "a\uFFFD" });
  });

  it("belongs to the item it names, when items take turns", () => {
    const reader = new EventReader();
    const read = (item_id: string, delta: string) => reader.read(JSON.stringify({ type: TYPE, item_id, delta }));
    expect([read("a", "1"), read("a", "2"), read("b", "3"), read("a", "4"), read("b", "5")]).toEqual(
      ["a1", "a2", "b3", "a4", "b5"].map(([itemId, delta]) => ({ type: "textDelta", itemId, delta })),
    );
  });
});

const MESSAGE = { type: "message", id: "msg_1", role: "assistant", content: [] };

describe("an event of a Responses stream", () => {
  it.each([
    [
      { type: "response.output_text.delta", item_id: "msg_1", delta: "hi", sequence_number: 4 },
      { type: "textDelta", itemId: "msg_1", delta: "hi" },
    ],
    [
      { type: "response.output_item.added", item: MESSAGE },
      { type: "itemAdded", item: MESSAGE },
    ],
    [
      { type: "response.output_item.done", item: MESSAGE },
      { type: "itemDone", item: MESSAGE },
    ],
    [
      { type: "response.reasoning_summary_part.added", item_id: "rs_1", summary_index: 2 },
      { type: "summaryPartAdded", itemId: "rs_1", summaryIndex: 2 },
    ],
    [
      { type: "response.reasoning_summary_text.delta", item_id: "rs_1", summary_index: 1, delta: "so" },
      { type: "summaryDelta", itemId: "rs_1", summaryIndex: 1, delta: "so" },
    ],
    [
      { type: "response.reasoning_text.delta", item_id: "rs_1", content_index: 3, delta: "raw" },
      { type: "reasoningTextDelta", itemId: "rs_1", contentIndex: 3, delta: "raw" },
    ],
    [
      { type: "response.done", response: { id: "resp_1" } },
      { type: "completed", responseId: "resp_1", usage: undefined },
    ],
  ])("%j", (event, meaning) => {
    expect(decodeEvent(event)).toEqual(meaning);
  });

  it("that completes the answer has its usage", () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 130,
    };
    expect(decodeEvent({ type: "response.completed", response: { id: "resp_1", usage } })).toEqual({
      type: "completed",
      responseId: "resp_1",
      usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 30, reasoning_output_tokens: 20, total_tokens: 130 },
    });
  });

  it("with incomplete or invalid usage counts zero for the rest", () => {
    const usage = { input_tokens: 7, output_tokens: "many", total_tokens: Number.NaN, input_tokens_details: null };
    expect(decodeEvent({ type: "response.completed", response: { usage } })).toEqual({
      type: "completed",
      responseId: "",
      usage: { input_tokens: 7, cached_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0, total_tokens: 0 },
    });
  });

  it("keeps an item of an unknown kind exactly", () => {
    const item = { type: "hologram", id: "h1", nested: { deep: [1, null, "ü"] } };
    expect(decodeEvent({ type: "response.output_item.done", item })).toEqual({ type: "itemDone", item });
  });

  it.each([
    { type: "response.created", response: {} },
    { type: "response.output_text.done", text: "hi" },
    { type: "response.something.new" },
    { type: "response.output_item.done", item: { id: "no type" } },
    { type: "response.output_item.added", item: [MESSAGE] },
    { kind: "no type" },
    ["response.completed"],
    "response.completed",
    42,
    null,
    undefined,
  ])("that is not used is skipped: %j", (event) => {
    expect(decodeEvent(event)).toBeUndefined();
  });

  it("without its fields gets empty ones", () => {
    expect(decodeEvent({ type: "response.reasoning_summary_text.delta", summary_index: "0" })).toEqual({
      type: "summaryDelta",
      itemId: "",
      summaryIndex: 0,
      delta: "",
    });
  });

  it.each([
    [
      { type: "response.incomplete", response: { incomplete_details: { reason: "max_output_tokens" } } },
      "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens",
      "stream",
    ],
    [
      { type: "response.incomplete", response: { incomplete_details: { reason: "so\u001b[2J" } } },
      "stream disconnected before completion: Incomplete response returned, reason: so\\u{1b}[2J",
      "stream",
    ],
    [{ type: "response.incomplete" }, "stream disconnected before completion: Incomplete response returned, reason: unknown", "stream"],
    [
      { type: "response.failed", response: { error: { code: "server_error", message: "It broke." } } },
      "stream disconnected before completion: It broke.",
      "stream",
    ],
    [{ type: "response.failed" }, "stream disconnected before completion: response.failed event received", "stream"],
    [
      { type: "error", error: { code: "insufficient_quota", message: "none left" } },
      "Quota exceeded. Check your plan and billing details.",
      "never",
    ],
    [{ type: "error", code: "invalid_prompt", message: "That prompt is not allowed." }, "That prompt is not allowed.", "never"],
  ])("that ends the answer with an error is a failure: %j", (event, message, retry) => {
    expect(() => decodeEvent(event)).toThrow(expect.objectContaining({ message, retry, constructor: ModelFailure }));
  });

  it("that is incomplete was a stream that ended early for Codex 0.92.0", () => {
    const failure = failureIn(() => decodeEvent({ type: "response.incomplete" }));
    expect(failure.asRecorded().message).toBe("stream disconnected before completion: stream closed before response.completed");
  });
});

function failureIn(work: () => unknown): ModelFailure {
  try {
    work();
  } catch (error) {
    if (error instanceof ModelFailure) return error;
  }
  throw new Error("there was no failure");
}
