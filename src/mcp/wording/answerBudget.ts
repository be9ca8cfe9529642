import type { ThreadId } from "../../lib/ids.js";

/** A common estimate of clients without a tokenizer. */
export const CHARACTERS_PER_TOKEN = 4;

/** The most characters that one takes in JSON. */
export const LONGEST_ESCAPE = 6;

/** The text of a review repeats the findings and needs room too. */
const FINDINGS_SHARE = 0.5;

/** How many characters of a result the findings of a review may take. */
export function roomForFindings(tokens: number): number {
  return tokens * CHARACTERS_PER_TOKEN * FINDINGS_SHARE;
}

export interface AnswerBudget {
  readonly tokens: number;
  /** The size of the rest of the result. */
  readonly spentCharacters: number;
  /** The thread with the full answer. */
  readonly threadId: ThreadId;
}

/** Shortens a long answer to its beginning and end, and says how much is missing and where to find it. */
export function withinBudget(answer: string, { tokens, spentCharacters, threadId }: AnswerBudget): string {
  const room = Math.max(tokens * CHARACTERS_PER_TOKEN - spentCharacters, 0);
  return shortened(answer, room, `codex-threads with action "read" and threadId "${threadId}" gives all of them.`);
}

/** An error is shown whatever the budget is: nothing else says what went wrong. */
const LEAST_ERROR_TOKENS = 500;

/** The same for the cause of an error, which is in no thread's history. */
export function errorWithinBudget(why: string, { tokens, spentCharacters }: Omit<AnswerBudget, "threadId">): string {
  return shortened(why, Math.max(tokens * CHARACTERS_PER_TOKEN - spentCharacters, LEAST_ERROR_TOKENS * CHARACTERS_PER_TOKEN));
}

function shortened(text: string, room: number, advice?: string): string {
  // Some clients show their model the result as JSON, in which quotes and line breaks take two characters.
  for (let limit = room; ; ) {
    const cut = withinRoom(text, limit, advice);
    const length = JSON.stringify(cut).length - 2;
    if (length <= room || limit === 0) return cut;
    limit = Math.floor((limit * room) / length);
  }
}

/** The same for a limit in characters. `advice` says how to get the rest. */
export function withinRoom(text: string, room: number, advice?: string): string {
  if (text.length <= room) return text;
  const rest = advice === undefined ? "" : `. ${advice}`;
  const gap = (omitted: number) => `[… ${omitted} of ${text.length} characters are left out here${rest} …]`;
  const kept = room - gap(text.length).length - 2 * SEPARATOR.length;
  if (kept < SMALLEST_REST) return gap(text.length);
  const head = headOf(text, Math.ceil(kept / 2));
  const tail = tailOf(text, Math.floor(kept / 2));
  return [head, gap(text.length - head.length - tail.length), tail].join(SEPARATOR);
}

const SEPARATOR = "\n\n";
/** Less than this on both sides together is not useful. */
const SMALLEST_REST = 80;
/** If a line ends this near the cut, the cut moves to the line's end. */
const NEARBY = 200;

function headOf(text: string, length: number): string {
  const end = isHighSurrogate(text, length - 1) ? length - 1 : length;
  const newline = text.lastIndexOf("\n", end);
  return text.slice(0, newline > end - NEARBY && newline > 0 ? newline : end);
}

function tailOf(text: string, length: number): string {
  const cut = text.length - length;
  const start = isHighSurrogate(text, cut - 1) ? cut + 1 : cut;
  const newline = text.indexOf("\n", start);
  return text.slice(newline >= 0 && newline < start + NEARBY && newline < text.length - 1 ? newline + 1 : start);
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}
