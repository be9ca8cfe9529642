import { isRecord } from "../support/scenarios/scenario.js";
import type { Entry, Transcript } from "../support/scenarios/transcript.js";

type Json = Readonly<Record<string, unknown>>;

/** A `codex/event` of a transcript. */
export interface ShownEvent {
  /** The request to which it belongs. */
  readonly call: unknown;
  readonly threadId: unknown;
  /** The turn that it names. */
  readonly turn: unknown;
  readonly msg: Json;
}

export function eventOf(entry: Entry): ShownEvent | undefined {
  const params = paramsOf(entry);
  if (!params || !isRecord(params["msg"])) return undefined;
  const meta = isRecord(params["_meta"]) ? params["_meta"] : {};
  return { call: meta["requestId"], threadId: meta["threadId"], turn: params["id"], msg: params["msg"] };
}

/** Applies `change` to each event; an event for which it returns undefined is removed. */
export function changeEvents(transcript: Transcript, change: (event: ShownEvent) => Json | undefined): Transcript {
  return transcript.flatMap((entry) => {
    const event = eventOf(entry);
    if (!event) return [entry];
    const msg = change(event);
    return msg === undefined ? [] : [withParams(entry, { msg })];
  });
}

/** Does the same for the items in `raw_response_item` events. */
export function changeRawItems(transcript: Transcript, change: (item: Json) => Json | undefined): Transcript {
  return changeEvents(transcript, ({ msg }) => {
    if (msg["type"] !== "raw_response_item" || !isRecord(msg["item"])) return msg;
    const item = change(msg["item"]);
    return item && { ...msg, item };
  });
}

export function inTurn(entry: Entry, turn: unknown): Entry {
  return withParams(entry, { id: turn });
}

function withParams(entry: Entry, changes: Json): Entry {
  if (!("msg" in entry) || !isRecord(entry.msg)) return entry;
  return { ...entry, msg: { ...entry.msg, params: { ...paramsOf(entry), ...changes } } };
}

function paramsOf(entry: Entry): Json | undefined {
  if (entry.dir !== "out" || !("msg" in entry) || !isRecord(entry.msg)) return undefined;
  const { method, params } = entry.msg;
  return method === "codex/event" && isRecord(params) ? params : undefined;
}
