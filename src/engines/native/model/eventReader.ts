import type { ModelEvent } from "./client.js";
import { decodeEvent } from "./decode.js";

const DELTA_START = '{"type":"response.output_text.delta",';
const DELTA_FIELD = '"delta":"';
/** V8 makes a slice of this length a view of the text it was cut from, which then lives as long as the slice: a log keeps its deltas. */
const VIEW_LENGTH = 13;

/**
 * The events of one answer, from their JSON. An answer is mostly small pieces of text that differ in nothing else: the first of an item is
 * parsed, those like it are only searched for what is new.
 */
export class EventReader {
  #itemId = "";
  #idField: string | undefined;

  /** Undefined for events we have no use for. Throws `ModelFailure`. */
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

  // Where no backslash is, every quote begins or ends a string; where no second pair of braces is, every key is the event's own.
  #deltaOfSameItem(json: string): string | undefined {
    if (this.#idField === undefined || !json.startsWith(DELTA_START)) return undefined;
    if (json.includes("\\") || json.lastIndexOf("{") !== 0 || json.indexOf("}") !== json.length - 1) return undefined;
    const idAt = json.indexOf(this.#idField);
    const at = json.indexOf(DELTA_FIELD);
    // Of a key that comes twice the last would count.
    if (json.lastIndexOf('"type"') !== 1 || json.lastIndexOf('"item_id"') !== idAt || json.lastIndexOf('"delta"') !== at) return undefined;
    const from = at + DELTA_FIELD.length;
    const end = json.indexOf('"', from);
    return idAt === -1 || at === -1 || end === -1 || end - from >= VIEW_LENGTH ? undefined : json.slice(from, end);
  }
}

// Garbage between events is skipped, as Codex does: if it mattered, the answer does not complete, and that is the error.
function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
