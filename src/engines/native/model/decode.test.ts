import { describe, expect, it } from "vitest";
import { ModelFailure } from "./client.js";
import { decodeEvent } from "./decode.js";

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

  it("that completes the answer tells what it cost", () => {
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

  it("that tells its cost in part, or not in numbers, counts nothing for the rest", () => {
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
  ])("that we have no use for is skipped: %j", (event) => {
    expect(decodeEvent(event)).toBeUndefined();
  });

  it("without its fields gives empty ones", () => {
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
      "stream disconnected before completion: stream closed before response.completed",
      "stream",
    ],
    [
      { type: "response.failed", response: { error: { code: "server_error", message: "It broke." } } },
      "stream disconnected before completion: It broke.",
      "stream",
    ],
    [{ type: "response.failed" }, "stream disconnected before completion: the model's answer failed", "stream"],
    [
      { type: "error", error: { code: "insufficient_quota", message: "none left" } },
      "Quota exceeded. Check your plan and billing details.",
      "never",
    ],
    [{ type: "error", code: "invalid_prompt", message: "That prompt is not allowed." }, "That prompt is not allowed.", "never"],
  ])("that ends the answer badly is a failure: %j", (event, message, retry) => {
    expect(() => decodeEvent(event)).toThrow(expect.objectContaining({ message, retry, constructor: ModelFailure }));
  });
});
