import path from "node:path";
import { type FileStamp, isSameStamp } from "../fileStamp.js";

/** What a list needs to know about a thread. */
export interface KnownHead {
  readonly cwd: string;
  readonly startedAt: string | undefined;
  readonly preview: string;
  /** The user's first message in lower case. */
  readonly words: string;
  /** The message was longer than what is kept. */
  readonly isCut: boolean;
}

/** The index entry of one file: the thread's beginning, a mark that it is not a user's thread, or a mark that the file must be read. */
export interface HeadEntry {
  readonly name: string;
  /** The file's stamp at that time; undefined when it cannot be trusted. */
  readonly stamp: FileStamp | undefined;
  readonly head: KnownHead | "none" | "look";
}

/** All rollout names have this length. */
export const NAME_LENGTH = "rollout-2026-01-27T10-32-31-019bff00-0000-7000-8000-000000000001.jsonl".length;

/** Longer than nearly every first message. A search in a longer one reads the file. */
const LONGEST_KEPT = 16_384;

/** The part that the index keeps. */
export function keptHead(head: KnownHead): KnownHead {
  return head.words.length <= LONGEST_KEPT ? head : { ...head, words: head.words.slice(0, LONGEST_KEPT), isCut: true };
}

export type EntryKind = "h" | "c" | "n" | "l";

/** One line: the name, a letter for its kind, and an array. Names, kinds, folders and words can be searched without parsing it. */
export function entryLine({ name, stamp, head }: HeadEntry): string {
  const mark = stamp ? [stamp.inode, stamp.size, stamp.modifiedAt, stamp.changedAt] : null;
  if (head === "none" || head === "look") return `${name}${head === "none" ? "n" : "l"}${JSON.stringify([mark])}\n`;
  const cwd = path.resolve(head.cwd);
  const fields = [mark, head.cwd, head.startedAt ?? null, head.preview, head.words, ...(cwd === head.cwd ? [] : [cwd])];
  return `${name}${head.isCut ? "c" : "h"}${JSON.stringify(fields)}\n`;
}

/** Undefined for an invalid line. */
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

/** The index's data for a file with this stamp; undefined when the file must be read. */
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
