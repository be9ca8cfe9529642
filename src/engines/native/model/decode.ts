import { type Fields, isFields } from "../../../lib/fields.js";
import type { RawItem } from "../../../threads/items.js";
import type { TokenUsage } from "../../../threads/usage.js";
import { type ModelEvent, ModelFailure } from "./client.js";
import { failureOfResponse } from "./failures.js";

/** One event of a Responses stream, as JSON → what it means to us; undefined for events we have no use for. Throws `ModelFailure`. */
export function decodeEvent(event: unknown): ModelEvent | undefined {
  if (!isFields(event)) return undefined;
  switch (event["type"]) {
    case "response.output_text.delta":
      return { type: "textDelta", itemId: text(event["item_id"]), delta: text(event["delta"]) };
    case "response.output_item.added":
      return isItem(event["item"]) ? { type: "itemAdded", item: event["item"] } : undefined;
    case "response.output_item.done":
      return isItem(event["item"]) ? { type: "itemDone", item: event["item"] } : undefined;
    case "response.reasoning_summary_part.added":
      return { type: "summaryPartAdded", itemId: text(event["item_id"]), summaryIndex: count(event["summary_index"]) };
    case "response.reasoning_summary_text.delta":
      return {
        type: "summaryDelta",
        itemId: text(event["item_id"]),
        summaryIndex: count(event["summary_index"]),
        delta: text(event["delta"]),
      };
    case "response.reasoning_text.delta":
      return {
        type: "reasoningTextDelta",
        itemId: text(event["item_id"]),
        contentIndex: count(event["content_index"]),
        delta: text(event["delta"]),
      };
    case "response.completed":
    case "response.done":
      return completed(event["response"]);
    case "response.incomplete":
      throw new ModelFailure("stream disconnected before completion: stream closed before response.completed", { retry: "stream" });
    case "response.failed":
      throw failureOfResponse(isFields(event["response"]) ? event["response"]["error"] : undefined);
    case "error":
      throw failureOfResponse(isFields(event["error"]) ? event["error"] : event);
    default:
      return undefined;
  }
}

function completed(response: unknown): ModelEvent {
  const usage = isFields(response) && isFields(response["usage"]) ? tokenUsage(response["usage"]) : undefined;
  return { type: "completed", responseId: isFields(response) ? text(response["id"]) : "", usage };
}

function tokenUsage(usage: Fields): TokenUsage {
  const input = isFields(usage["input_tokens_details"]) ? usage["input_tokens_details"] : {};
  const output = isFields(usage["output_tokens_details"]) ? usage["output_tokens_details"] : {};
  return {
    input_tokens: count(usage["input_tokens"]),
    cached_input_tokens: count(input["cached_tokens"]),
    output_tokens: count(usage["output_tokens"]),
    reasoning_output_tokens: count(output["reasoning_tokens"]),
    // Some providers leave the sum to the reader.
    total_tokens: count(usage["total_tokens"] ?? count(usage["input_tokens"]) + count(usage["output_tokens"])),
  };
}

function isItem(value: unknown): value is RawItem {
  return isFields(value) && typeof value["type"] === "string";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
