import { isFields, textOrNothing } from "../lib/fields.js";
import { oneLine } from "../lib/oneLine.js";
import { inSlices } from "../lib/slices.js";
import { InvalidCursor } from "./errors.js";
import type { RawItem } from "./items.js";

/** One message or action on a thread, for a reader. */
export interface TranscriptEntry {
  readonly from: "user" | "agent" | "tool" | "output";
  readonly text: string;
}

/** A part of a thread's transcript. */
export interface TranscriptPage {
  readonly entries: readonly TranscriptEntry[];
  /** The turn in which the page begins; the first is 1. */
  readonly turn: number;
  readonly turns: number;
  /** Start of the next page; absent at the end. */
  readonly nextCursor?: string;
  /** Start of the last message of the turn in which the page begins; absent if it begins there or later, or shows all of it. */
  readonly answerCursor?: string;
  /** Start of the turn before the page's first one; absent on the first. */
  readonly earlierCursor?: string;
}

/** Characters of one page: an eighth of a small model's context. */
const PAGE_LENGTH = 32_000;
/** Calls and outputs are shortened: a reader only needs to see what they were about. */
const LONGEST_CALL = 400;
const LONGEST_OUTPUT = 1_000;

/** Prefixes of injected texts that are stored as user messages. */
export const INJECTED_BEGINNINGS = [
  "<environment_context>",
  "# AGENTS.md instructions for ",
  "<user_instructions>",
  "<turn_aborted>",
  "<skill>",
  "<user_shell_command>",
] as const;

/** Messages and actions, oldest first, without reasoning and without the context injected before the first turn. */
export async function transcriptOf(items: readonly RawItem[]): Promise<readonly TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  await inSlices(items, (item) => {
    const entry = entryOf(item);
    if (entry) entries.push(entry);
  });
  return entries;
}

/** The page at the cursor; without one, the page where the last turn begins. Throws `InvalidCursor`. */
export function transcriptPage(entries: readonly TranscriptEntry[], cursor?: string): TranscriptPage {
  const begins = entries.flatMap(({ from }, at) => (from === "user" ? [at] : []));
  const start = cursor === undefined ? { entry: begins.at(-1) ?? 0, offset: 0 } : placeOf(cursor, entries);
  const shown: TranscriptEntry[] = [];
  let room = PAGE_LENGTH;
  let { entry, offset } = start;
  for (; entry < entries.length && room > 0; entry++, offset = 0) {
    const { from, text } = entries[entry] ?? { from: "output", text: "" };
    const end = wholeCharacters(text, offset + room);
    shown.push({ from, text: text.slice(offset, end) });
    room -= end - offset;
    if (end < text.length) {
      offset = end;
      break;
    }
  }
  const turn = Math.max(1, begins.filter((at) => at <= start.entry).length);
  const earlier = begins[turn - 2];
  const answer = entries.slice(0, begins[turn]).findLastIndex(({ from }) => from === "agent");
  return {
    entries: shown,
    turn,
    turns: begins.length,
    ...(entry < entries.length && { nextCursor: `${entry}.${offset}` }),
    ...(answer > start.entry && answer >= entry && { answerCursor: `${answer}.0` }),
    ...(earlier !== undefined && { earlierCursor: `${earlier}.0` }),
  };
}

function entryOf(item: RawItem): TranscriptEntry | undefined {
  switch (item.type) {
    case "message":
      return messageOf(item);
    case "function_call":
      return { from: "tool", text: callLine(item["name"], item["arguments"]) };
    case "custom_tool_call":
      return { from: "tool", text: callLine(item["name"], item["input"]) };
    case "local_shell_call":
      return { from: "tool", text: callLine("local_shell", JSON.stringify(item["action"] ?? {})) };
    case "web_search_call":
      return { from: "tool", text: callLine("web_search", JSON.stringify(item["action"] ?? {})) };
    case "function_call_output":
    case "custom_tool_call_output":
      return { from: "output", text: shortened(outputText(item["output"])) };
    default:
      return undefined;
  }
}

function messageOf({ role, content }: RawItem): TranscriptEntry | undefined {
  const text = partsText(content);
  if (role === "assistant") return text === "" ? undefined : { from: "agent", text };
  if (role !== "user" || text === "" || INJECTED_BEGINNINGS.some((beginning) => text.startsWith(beginning))) return undefined;
  return { from: "user", text };
}

function callLine(name: unknown, input: unknown): string {
  return oneLine(`${textOrNothing(name) ?? "tool"} ${textOrNothing(input) ?? ""}`, LONGEST_CALL);
}

/** An output is a text, or a list with texts and images. */
function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  return isFields(output) ? (textOrNothing(output["content"]) ?? "") : partsText(output);
}

function partsText(parts: unknown): string {
  if (!Array.isArray(parts)) return textOrNothing(parts) ?? "";
  return parts.map((part: unknown) => (isFields(part) ? (textOrNothing(part["text"]) ?? "") : "")).join("");
}

function shortened(text: string): string {
  if (text.length <= LONGEST_OUTPUT) return text;
  const end = wholeCharacters(text, LONGEST_OUTPUT);
  return `${text.slice(0, end)}… (${text.length - end} more characters)`;
}

/** The nearest position where the text can be cut without splitting a surrogate pair. */
function wholeCharacters(text: string, at: number): number {
  if (at >= text.length) return text.length;
  return /[\uD800-\uDBFF]/.test(text[at - 1] ?? "") ? at - 1 : at;
}

function placeOf(cursor: string, entries: readonly TranscriptEntry[]): { entry: number; offset: number } {
  const [, entry = "", offset = ""] = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? [];
  const place = { entry: Number(entry), offset: Number(offset) };
  const named = entry === "" ? undefined : entries[place.entry];
  if (!named || place.offset > named.text.length) throw new InvalidCursor();
  return place;
}
