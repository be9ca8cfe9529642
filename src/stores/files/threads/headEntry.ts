import path from "node:path";
import { type FileStamp, isSameStamp } from "./fileStamp.js";

/** What a list needs to know of a thread. */
export interface KnownHead {
  readonly cwd: string;
  readonly startedAt: string | undefined;
  readonly preview: string;
  /** What its user said first, in small letters. */
  readonly words: string;
  /** There was more of it than is kept. */
  readonly isCut: boolean;
}

/** What the index has of one file: how a thread began, that it is none of a user's, or that one has to look oneself. */
export interface HeadEntry {
  readonly name: string;
  /** How the file was then; undefined when that tells nothing. */
  readonly stamp: FileStamp | undefined;
  readonly head: KnownHead | "none" | "look";
}

/** Names of rollouts are all this long. */
export const NAME_LENGTH = "rollout-2026-01-27T10-32-31-019bff00-0000-7000-8000-000000000001.jsonl".length;

/** Longer than nearly every first message. Whoever searches in a longer one reads its file. */
const LONGEST_KEPT = 16_384;

/** As much of it as the index keeps. */
export function keptHead(head: KnownHead): KnownHead {
  return head.words.length <= LONGEST_KEPT ? head : { ...head, words: head.words.slice(0, LONGEST_KEPT), isCut: true };
}

export type EntryKind = "h" | "c" | "n" | "l";

/** One line: the name, a letter for its kind, and an array. Whoever looks for names, kinds, folders or words need not parse it. */
export function entryLine({ name, stamp, head }: HeadEntry): string {
  const mark = stamp ? [stamp.inode, stamp.size, stamp.modifiedAt, stamp.changedAt] : null;
  if (head === "none" || head === "look") return `${name}${head === "none" ? "n" : "l"}${JSON.stringify([mark])}\n`;
  const cwd = path.resolve(head.cwd);
  const fields = [mark, head.cwd, head.startedAt ?? null, head.preview, head.words, ...(cwd === head.cwd ? [] : [cwd])];
  return `${name}${head.isCut ? "c" : "h"}${JSON.stringify(fields)}\n`;
}

/** Undefined for a line that nobody here wrote. */
export function entryIn(line: string): HeadEntry | undefined {
  const name = line.slice(0, NAME_LENGTH);
  const kind = line[NAME_LENGTH];
  const [mark, cwd, startedAt, preview, words] = fieldsIn(line.slice(NAME_LENGTH + 1));
  const stamp = stampIn(mark);
  if (kind === "n" || kind === "l") return { name, stamp, head: kind === "n" ? "none" : "look" };
  if (typeof cwd !== "string" || typeof preview !== "string" || typeof words !== "string") return undefined;
  return {
    name,
    stamp,
    head: { cwd, startedAt: typeof startedAt === "string" ? startedAt : undefined, preview, words, isCut: kind === "c" },
  };
}

/** What the index knows of a file that is now as `stamp` says; undefined when one has to look. */
export function headFor(entry: HeadEntry | undefined, stamp: FileStamp): KnownHead | "none" | undefined {
  if (!entry || entry.head === "look" || !isSameStamp(entry.stamp, stamp)) return undefined;
  return entry.head;
}

function fieldsIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function stampIn(mark: unknown): FileStamp | undefined {
  if (!Array.isArray(mark) || mark.length !== 4 || !mark.every((part) => typeof part === "number")) return undefined;
  const [inode = 0, size = 0, modifiedAt = 0, changedAt = 0] = mark as readonly number[];
  return { inode, size, modifiedAt, changedAt };
}
