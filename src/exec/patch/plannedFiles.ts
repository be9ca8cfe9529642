import { type MayRead, type ReadFile, readEntry, readGuarded } from "../../lib/files/guardedRead.js";
import { NotPatchable } from "./errors.js";

/** One file of a patch. `before` and `after` are both undefined when the patch created the file and removed it again. */
export interface PlannedFile {
  /** Absolute, lexically normalised. */
  readonly path: string;
  /** As written in the patch. */
  readonly shownAs: string;
  /** The absolute path with its `..` as written; present when callers are to see it in place of `path`. */
  readonly shownPath?: string;
  /** The content on disk; undefined where there is no file. */
  readonly before: Buffer | undefined;
  /** Whether the file on disk is executable for anyone. */
  readonly wasExecutable: boolean;
  /** The content after the patch; undefined where there will be no file. */
  readonly after: string | undefined;
  /** The source of a move with edits; it is gone after the patch. */
  readonly movedFrom: string | undefined;
  /** Created by the patch, not edited; a previous file is overwritten. */
  readonly isNew: boolean;
}

/** A file's content and mode at one moment. */
export interface Version {
  readonly bytes: Buffer;
  readonly isExecutable: boolean;
}

interface Entry {
  readonly shownAs: string;
  readonly before: Buffer | undefined;
  readonly wasExecutable: boolean;
  /** Bytes until a section changes the file. */
  now: Buffer | string | undefined;
  movedFrom: string | undefined;
  isNew: boolean;
}

/** The files of a patch while its sections are processed: each section sees the result of the previous ones. */
export class PlannedFiles {
  readonly #entries = new Map<string, Entry>();

  has(path: string): boolean {
    return this.#entries.has(path);
  }

  /** Must be called before any other method for the path. */
  remember(path: string, { shownAs, before }: { shownAs: string; before: Version | undefined }): void {
    const { bytes, isExecutable = false } = before ?? {};
    this.#entries.set(path, { shownAs, before: bytes, wasExecutable: isExecutable, now: bytes, movedFrom: undefined, isNew: false });
  }

  current(path: string): Buffer | string | undefined {
    return this.#entries.get(path)?.now;
  }

  add(path: string, text: string): void {
    this.#change(path, { now: text, movedFrom: undefined, isNew: true });
  }

  update(path: string, text: string): void {
    this.#change(path, { now: text });
  }

  remove(path: string): void {
    this.#change(path, { now: undefined, movedFrom: undefined, isNew: false });
  }

  /** Moving a file onto itself is an update, and must not become a removal. */
  move(from: string, to: string, text: string): void {
    const source = this.#entries.get(from);
    if (source === undefined || from === to) return this.update(from, text);
    const origin = source.isNew ? undefined : (source.movedFrom ?? from);
    this.#change(to, { now: text, movedFrom: origin === to ? undefined : origin, isNew: source.isNew });
    this.remove(from);
  }

  /** In the order of their first mention in the patch. */
  all(): PlannedFile[] {
    const files: PlannedFile[] = [];
    for (const [path, { now, movedFrom, isNew, ...entry }] of this.#entries) {
      if (Buffer.isBuffer(now)) continue;
      const originIsBack = movedFrom !== undefined && this.current(movedFrom) !== undefined;
      files.push({ path, ...entry, after: now, movedFrom: originIsBack ? undefined : movedFrom, isNew: isNew || originIsBack });
    }
    return files;
  }

  #change(path: string, change: Partial<Entry>): void {
    const entry = this.#entries.get(path);
    if (entry === undefined) throw new Error(`${path} was changed before it was remembered`);
    Object.assign(entry, change);
  }
}

const MIB = 1024 * 1024;

/**
 * A patch needs about twenty times the file's size in memory: the old and new text, their lines and their diff. Larger files are refused.
 */
const LIMIT = { maxBytes: 8 * MIB, larger: "refuse" } as const;

/** The limit for all files of one patch together. */
export const LARGEST_PATCH_BYTES = 16 * MIB;

/** Time and memory also grow with the number of lines: eight million empty ones blocked the server for six seconds. */
export const MOST_PATCH_LINES = 500_000;

export type FileOnDisk = Pick<ReadFile, "bytes" | "stats">;

/** Reads the file that a path leads to. Throws ReadRefused where the thread may not read it. */
export function readFileAt(path: string, mayRead: MayRead): Promise<FileOnDisk> {
  return readGuarded(path, { ...LIMIT, mayRead });
}

/** Like `readFileAt`, for a patch or a diff. Like git, it counts a file as executable if anyone may execute it. */
export async function versionAt(path: string, mayRead: MayRead): Promise<Version> {
  const { bytes, stats } = await readFileAt(path, mayRead);
  return { bytes, isExecutable: (stats.mode & 0o111n) !== 0n };
}

/** Reads an entry of a held folder; a link there is not followed. */
export function readHeldEntry(path: string): Promise<FileOnDisk> {
  return readEntry(path, LIMIT);
}

/** Throws NotPatchable for bytes that are not UTF-8. */
export function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new NotPatchable("stream did not contain valid UTF-8", { cause: error });
  }
}

/** The number of line ends, counted up to a limit. */
export function countLines(content: Buffer | string, { atMost }: { readonly atMost: number }): number {
  const next = (from: number) => (typeof content === "string" ? content.indexOf("\n", from) : content.indexOf(LINE_END, from));
  let count = 0;
  for (let at = next(0); at >= 0 && count < atMost; at = next(at + 1)) count++;
  return count;
}

const LINE_END = 0x0a;
