import { type Fields, isFields } from "../../../lib/fields.js";
import type { RawItem } from "../../../threads/items.js";

/** About 20,000 tokens: how much of the user's messages a compaction without its own history keeps. */
const KEPT_USER_TEXT_CHARS = 80_000;

interface Entry {
  readonly item: RawItem;
  /** A person's message, not context in the form of a user message. */
  readonly startsTurn: boolean;
}

/** The model's conversation after the lines read so far. */
export class Replay {
  #entries: Entry[] = [];

  get items(): RawItem[] {
    return this.#entries.map(({ item }) => item);
  }

  addItem(payload: unknown): void {
    if (isReplayable(payload)) this.#entries.push({ item: payload, startsTurn: false });
  }

  /** Codex records a user message first as an item, then as an event: the event distinguishes it from context. */
  userSpoke({ kind }: Fields): void {
    if (typeof kind === "string" && kind !== "plain") return;
    const at = this.#entries.findLastIndex(({ item }) => isUserMessage(item));
    const said = this.#entries[at];
    if (said) this.#entries[at] = { ...said, startsTurn: true };
  }

  /** Undoes the last turns, each from its user message on. */
  rolledBack({ num_turns: turns }: Fields): void {
    if (typeof turns !== "number" || turns < 1) return;
    const starts = this.#entries.flatMap(({ startsTurn }, at) => (startsTurn ? [at] : []));
    const from = starts.at(-turns) ?? starts[0];
    if (from !== undefined) this.#entries.length = from;
  }

  /** A summary replaced the history. Older files only contain the summary. */
  compacted({ message, replacement_history: replacement }: Fields): void {
    if (Array.isArray(replacement)) this.#replaceBy(replacement.filter(isReplayable));
    else if (typeof message === "string") this.#summarise(message);
  }

  #replaceBy(items: readonly RawItem[]): void {
    const asked = new Set(this.#asked.map(({ item }) => textOf(item)));
    this.#entries = items.map((item) => ({ item, startsTurn: isUserMessage(item) && asked.has(textOf(item)) }));
  }

  #summarise(summary: string): void {
    const asked = this.#asked;
    const context = asked[0] ? this.#entries.slice(0, this.#entries.indexOf(asked[0])) : this.#entries;
    this.#entries = [...context, ...mostRecent(asked), { item: userMessage(summary), startsTurn: false }];
  }

  get #asked(): Entry[] {
    return this.#entries.filter(({ startsTurn }) => startsTurn);
  }
}

/** As many of the last messages as fit; the oldest of them may be shortened. */
function mostRecent(asked: readonly Entry[]): Entry[] {
  const kept: Entry[] = [];
  let room = KEPT_USER_TEXT_CHARS;
  for (const entry of asked.toReversed()) {
    if (room <= 0) break;
    const text = textOf(entry.item);
    kept.push(text.length <= room ? entry : { item: userMessage(text.slice(0, room)), startsTurn: true });
    room -= text.length;
  }
  return kept.reverse();
}

/**
 * An item that can be sent to a model again. Known kinds must have the fields a model requires, because one invalid item would make every
 * later request of the thread fail; unknown kinds are trusted. Snapshots are internal to Codex and never sent.
 */
function isReplayable(value: unknown): value is RawItem {
  if (!isFields(value)) return false;
  switch (value["type"]) {
    case "message":
      return typeof value["role"] === "string" && Array.isArray(value["content"]);
    case "reasoning":
      return Array.isArray(value["summary"]);
    case "function_call":
      return areText(value["name"], value["arguments"], value["call_id"]);
    case "custom_tool_call":
      return areText(value["name"], value["input"], value["call_id"]);
    case "function_call_output":
    case "custom_tool_call_output":
      return areText(value["call_id"]) && (areText(value["output"]) || Array.isArray(value["output"]));
    case "local_shell_call":
      return isFields(value["action"]);
    case "ghost_snapshot":
      return false;
    default:
      return typeof value["type"] === "string";
  }
}

function isUserMessage(item: RawItem): boolean {
  return item.type === "message" && item["role"] === "user";
}

function userMessage(text: string): RawItem {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

/** All text of a message; images have none. */
function textOf(message: RawItem): string {
  const content: unknown = message["content"];
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function areText(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}
