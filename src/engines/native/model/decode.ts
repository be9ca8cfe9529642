import { type Fields, isFields, parseForeignJson } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";
import { visible } from "../../../lib/visibleText.js";
import type { RawItem } from "../../../threads/items.js";
import type { TokenUsage } from "../../../threads/usage.js";
import { type ModelEvent, ModelFailure } from "./client.js";
import { failureOfResponse } from "./failures.js";

/**
 * Parses server-sent events from arbitrary chunks. Only `data` is read: event names, ids and retry times have no meaning in a model
 * response.
 */
export class EventStreamReader {
  readonly #take: (data: string) => void;
  /** The start of an incomplete line. */
  #rest = "";
  #data: string | undefined;
  #atStart = true;
  #afterReturn = false;

  constructor(take: (data: string) => void) {
    this.#take = take;
  }

  feed(piece: string): void {
    if (piece === "") return;
    const text = this.#plain(piece);
    let from = 0;
    let end = text.indexOf("\n");
    // Only the new chunk is searched: a line may arrive in thousands of chunks.
    if (end !== -1 && this.#rest !== "") {
      const line = this.#rest + text.slice(0, end);
      this.#rest = "";
      this.#line(line, 0, line.length);
      from = end + 1;
      end = text.indexOf("\n", from);
    }
    for (; end !== -1; end = text.indexOf("\n", from)) {
      this.#line(text, from, end);
      from = end + 1;
    }
    if (from < text.length) this.#rest += text.slice(from);
  }

  #line(text: string, from: number, end: number): void {
    if (from === end) {
      const data = this.#data;
      this.#data = undefined;
      if (data !== undefined) this.#take(data);
    } else if (text.startsWith("data:", from)) {
      this.#add(text.slice(from + (text.startsWith(" ", from + 5) ? 6 : 5), end));
    } else if (end - from === 4 && text.startsWith("data", from)) {
      this.#add("");
    }
  }

  #add(data: string): void {
    this.#data = this.#data === undefined ? data : `${this.#data}\n${data}`;
  }

  /** Normalises line ends to `\n` and removes a byte order mark. */
  #plain(piece: string): string {
    let text = piece;
    if (this.#atStart && text.startsWith("\uFEFF")) text = text.slice(1);
    this.#atStart = false;
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterReturn = piece.endsWith("\r");
    return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
  }
}

const DELTA_START = '{"type":"response.output_text.delta",';
const DELTA_FIELD = '"delta":"';
/** V8 implements a slice of this length as a view that keeps the whole source text alive, and a log keeps its deltas. */
const VIEW_LENGTH = 13;

/**
 * Decodes the events of one response from JSON. Most are text deltas that differ only in their text: the first delta of an item is parsed,
 * and in the others the text is located by string search.
 */
export class EventReader {
  #itemId = "";
  #idField: string | undefined;

  /** Undefined for events that are not used. Throws `ModelFailure`. */
  read(json: string): ModelEvent | undefined {
    const delta = this.#deltaOfSameItem(json);
    if (delta !== undefined) return { type: "textDelta", itemId: this.#itemId, delta };
    const event = decodeEvent(parse(json));
    if (event?.type === "textDelta" && event.itemId !== this.#itemId) {
      this.#itemId = event.itemId;
      this.#idField = `"item_id":${JSON.stringify(event.itemId)}`;
    }
    return event;
  }

  // Without a backslash, every quote begins or ends a string; without a second pair of braces, every key is the event's own.
  #deltaOfSameItem(json: string): string | undefined {
    if (this.#idField === undefined || !json.startsWith(DELTA_START)) return undefined;
    if (json.includes("\\") || json.lastIndexOf("{") !== 0 || json.indexOf("}") !== json.length - 1) return undefined;
    const idAt = json.indexOf(this.#idField);
    const at = json.indexOf(DELTA_FIELD);
    // If a key occurs twice, the last one would count.
    if (json.lastIndexOf('"type"') !== 1 || json.lastIndexOf('"item_id"') !== idAt || json.lastIndexOf('"delta"') !== at) return undefined;
    const from = at + DELTA_FIELD.length;
    const end = json.indexOf('"', from);
    return idAt === -1 || at === -1 || end === -1 || end - from >= VIEW_LENGTH ? undefined : json.slice(from, end);
  }
}

// Like Codex, skips invalid data between events: if it mattered, the response does not complete, and that is the error.
function parse(json: string): unknown {
  try {
    return parseForeignJson(json);
  } catch {
    return undefined;
  }
}

/** One parsed event of a Responses stream → our event; undefined for events that are not used. Throws `ModelFailure`. */
export function decodeEvent(event: unknown): ModelEvent | undefined {
  if (!isFields(event)) return undefined;
  switch (event["type"]) {
    case "response.output_text.delta":
      return { type: "textDelta", itemId: stringOf(event["item_id"]), delta: stringOf(event["delta"]) };
    case "response.output_item.added":
      return isItem(event["item"]) ? { type: "itemAdded", item: event["item"] } : undefined;
    case "response.output_item.done":
      return isItem(event["item"]) ? { type: "itemDone", item: event["item"] } : undefined;
    case "response.reasoning_summary_part.added":
      return { type: "summaryPartAdded", itemId: stringOf(event["item_id"]), summaryIndex: count(event["summary_index"]) };
    case "response.reasoning_summary_text.delta":
      return {
        type: "summaryDelta",
        itemId: stringOf(event["item_id"]),
        summaryIndex: count(event["summary_index"]),
        delta: stringOf(event["delta"]),
      };
    case "response.reasoning_text.delta":
      return {
        type: "reasoningTextDelta",
        itemId: stringOf(event["item_id"]),
        contentIndex: count(event["content_index"]),
        delta: stringOf(event["delta"]),
      };
    case "response.completed":
    case "response.done":
      return completed(event["response"]);
    case "response.incomplete":
      throw incomplete(event["response"]);
    case "response.failed":
      throw failureOfResponse(isFields(event["response"]) ? event["response"]["error"] : undefined);
    case "error":
      throw failureOfResponse(isFields(event["error"]) ? event["error"] : event);
    default:
      return undefined;
  }
}

/** Codex 0.92.0 ignored the event, so that the end of the stream was the error. */
function incomplete(response: unknown): ModelFailure {
  const details = isFields(response) && isFields(response["incomplete_details"]) ? response["incomplete_details"] : {};
  const reason = stringOf(details["reason"]) || "unknown";
  return new ModelFailure(
    `stream disconnected before completion: Incomplete response returned, reason: ${visible(oneLine(reason, LONGEST_REASON))}`,
    {
      retry: "stream",
      recorded: { message: "stream disconnected before completion: stream closed before response.completed" },
    },
  );
}

const LONGEST_REASON = 200;

function completed(response: unknown): ModelEvent {
  const usage = isFields(response) && isFields(response["usage"]) ? tokenUsage(response["usage"]) : undefined;
  return { type: "completed", responseId: isFields(response) ? stringOf(response["id"]) : "", usage };
}

function tokenUsage(usage: Fields): TokenUsage {
  const input = isFields(usage["input_tokens_details"]) ? usage["input_tokens_details"] : {};
  const output = isFields(usage["output_tokens_details"]) ? usage["output_tokens_details"] : {};
  return {
    input_tokens: count(usage["input_tokens"]),
    cached_input_tokens: count(input["cached_tokens"]),
    output_tokens: count(usage["output_tokens"]),
    reasoning_output_tokens: count(output["reasoning_tokens"]),
    // Some providers omit the sum.
    total_tokens: count(usage["total_tokens"] ?? count(usage["input_tokens"]) + count(usage["output_tokens"])),
  };
}

function isItem(value: unknown): value is RawItem {
  return isFields(value) && typeof value["type"] === "string";
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
