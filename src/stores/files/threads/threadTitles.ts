import { promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import type { ThreadId } from "../../../lib/ids.js";
import { oneLine } from "../../../lib/oneLine.js";
import { storageFailure } from "../failure.js";

/** Of a longer file, only the newest lines are read. */
const MOST_BYTES = 64 * 1024 * 1024;
const BLOCK_BYTES = 256 * 1024;
/** The number of bytes compared to verify that a file has only grown. */
const JOINT_BYTES = 128;
const LONGEST_SHOWN = 200;
const [NEWLINE, SPACE] = [0x0a, 0x20];

/** The file's state when it was read. */
interface ReadAs {
  readonly inode: number;
  readonly size: number;
  readonly changedAt: number;
  /** The end of the lines that were read, and the bytes before it. */
  readonly end: number;
  readonly joint: Buffer;
}

const NEVER_READ: ReadAs = { inode: -1, size: 0, changedAt: 0, end: 0, joint: Buffer.alloc(0) };

/** Titles of threads in Codex's file: a line of `session_index.jsonl` for each; the last one counts. */
export class ThreadTitles {
  readonly #file: string;
  #titles = new Map<string, string>();
  #readAs = NEVER_READ;

  constructor(codexHome: string) {
    this.#file = path.join(codexHome, "session_index.jsonl");
  }

  /** The current titles. Empty when the file cannot be read: nothing else of the list depends on it. */
  async read(): Promise<ReadonlyMap<string, string>> {
    try {
      await using file = await promises.open(this.#file, "r");
      const found = await file.stat();
      const { inode, size, changedAt } = this.#readAs;
      if (found.ino !== inode || found.size !== size || found.ctimeMs !== changedAt) await this.#readNew(file, found);
    } catch {
      this.#titles = new Map();
      this.#readAs = NEVER_READ;
    }
    return this.#titles;
  }

  /** A single append, so that no other program's line is lost. */
  async give(id: ThreadId, title: string): Promise<void> {
    const line = JSON.stringify({ id, thread_name: title, updated_at: new Date().toISOString() });
    try {
      await using file = await promises.open(this.#file, "a+", 0o600);
      const begin = (await endsInLine(file)) ? "" : "\n";
      await file.appendFile(`${begin}${line}\n`);
    } catch (error) {
      throw storageFailure("write the thread's title to", this.#file, error);
    }
  }

  /** Overwrites the lines of a thread with blanks: rewriting the file could lose a line that another program adds meanwhile. */
  async forget(id: ThreadId): Promise<void> {
    try {
      await using file = await promises.open(this.#file, "r+");
      const { size } = await file.stat();
      for await (const { bytes, at } of linesFrom(file, Math.max(0, size - MOST_BYTES)))
        if (bytes.includes(id) && entryIn(bytes)?.id === id) await file.write(Buffer.alloc(bytes.length, SPACE), 0, bytes.length, at);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return;
      throw storageFailure("remove the thread's title from", this.#file, error);
    }
  }

  async #readNew(file: FileHandle, found: { readonly ino: number; readonly size: number; readonly ctimeMs: number }): Promise<void> {
    const grown = found.ino === this.#readAs.inode && found.size > this.#readAs.size && (await this.#isJoined(file));
    const titles = grown ? this.#titles : new Map<string, string>();
    let end = grown ? this.#readAs.end : Math.max(0, found.size - MOST_BYTES);
    for await (const { bytes, at } of linesFrom(file, end)) {
      const { id, title } = entryIn(bytes) ?? {};
      if (id !== undefined && title !== undefined) titles.set(id, oneLine(title, LONGEST_SHOWN));
      end = at + bytes.length + 1;
    }
    const joint = await bytesBefore(file, end);
    this.#titles = titles;
    this.#readAs = { inode: found.ino, size: found.size, changedAt: found.ctimeMs, end, joint };
  }

  async #isJoined(file: FileHandle): Promise<boolean> {
    return (await bytesBefore(file, this.#readAs.end)).equals(this.#readAs.joint);
  }
}

async function bytesBefore(file: FileHandle, end: number): Promise<Buffer> {
  const from = Math.max(0, end - JOINT_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(end - from), 0, end - from, from);
  return buffer.subarray(0, bytesRead);
}

async function endsInLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  return size === 0 || (await bytesBefore(file, size)).at(-1) === NEWLINE;
}

interface PlacedLine {
  /** Without its newline. */
  readonly bytes: Buffer;
  readonly at: number;
}

/** Whole lines only; a line longer than a block is not a title. */
async function* linesFrom(file: FileHandle, start: number): AsyncGenerator<PlacedLine> {
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let at = start; ; ) {
    const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, at);
    const bytes = block.subarray(0, bytesRead);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
      yield { bytes: bytes.subarray(from, end), at: at + from };
      from = end + 1;
    }
    if (bytesRead < BLOCK_BYTES) return;
    at += from === 0 ? bytesRead : from;
  }
}

function entryIn(bytes: Buffer): { readonly id: string; readonly title: string } | undefined {
  const { id, thread_name: title } = fieldsIn(bytes);
  return typeof id === "string" && typeof title === "string" ? { id, title } : undefined;
}

function fieldsIn(bytes: Buffer): Fields {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
