import { close, closeSync, constants, fdatasync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../../lib/errors.js";
import { type ThreadId, threadIdOf } from "../../../lib/ids.js";
import { storageFailure } from "../failure.js";

/** Which file it was and how long: differs as soon as anybody else has written, or put another file in its place. */
export interface FileMark {
  readonly inode: number;
  readonly size: number;
}

const APPEND = constants.O_RDWR | constants.O_APPEND;

interface OpenRollout {
  readonly path: string;
  readonly fd: number;
  readonly foundAs: FileMark;
  readonly size: number;
}

/** A rollout open for appending whole lines. */
export class RolloutFile {
  #wasWritten = false;
  #flushed: { readonly size: number; readonly done: Promise<void> } | undefined;

  readonly path: string;
  /** The file as it was found, before a torn last line was cut off. */
  readonly foundAs: FileMark;
  readonly #fd: number;
  #size: number;

  private constructor({ path: file, fd, foundAs, size }: OpenRollout) {
    this.path = file;
    this.foundAs = foundAs;
    this.#fd = fd;
    this.#size = size;
  }

  /** Undefined when there is no such file. */
  static openExisting(file: string): RolloutFile | undefined {
    try {
      return RolloutFile.#of(file, openSync(file, APPEND));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw storageFailure("open the thread's file", file, error);
    }
  }

  static create(file: string): RolloutFile {
    try {
      return RolloutFile.#of(file, openMakingFolders(file));
    } catch (error) {
      throw storageFailure("create the thread's file", file, error);
    }
  }

  static #of(file: string, fd: number): RolloutFile {
    try {
      const { ino: inode, size } = fstatSync(fd);
      return new RolloutFile({ path: file, fd, foundAs: { inode, size }, size: cutTornLine(fd, size) });
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Since it was opened. */
  get wasWritten(): boolean {
    return this.#wasWritten;
  }

  /** The file as we leave it; lines that somebody else added meanwhile are not counted, so that they will be noticed. */
  get leftAs(): FileMark {
    return { inode: this.foundAs.inode, size: this.#size };
  }

  /** All of the text is with the kernel afterwards, or none of it is in the file. */
  append(text: string): void {
    const bytes = Buffer.from(text);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
    } catch (error) {
      this.#takeBack(written);
      throw storageFailure("write the thread's file", this.path, error);
    }
    this.#size += bytes.length;
    this.#wasWritten = true;
  }

  /** Resolves when what was written would survive a power failure. Nothing new since the last time is no work. */
  flush(): Promise<void> {
    if (this.#flushed?.size !== this.#size) this.#flushed = { size: this.#size, done: this.#flush() };
    return this.#flushed.done;
  }

  async #flush(): Promise<void> {
    try {
      await promisify(fdatasync)(this.#fd);
    } catch (error) {
      throw storageFailure("bring to the disk the thread's file", this.path, error);
    }
  }

  async flushAndClose(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await promisify(close)(this.#fd);
    }
  }

  closeUnflushed(): void {
    closeSync(this.#fd);
  }

  #takeBack(written: number): void {
    try {
      ftruncateSync(this.#fd, fstatSync(this.#fd).size - written);
    } catch {
      // A disk that refuses this too leaves a torn line, which the next opening cuts off.
    }
  }
}

/** Private to the user: a rollout holds everything that was said and read. */
function openMakingFolders(file: string): number {
  const open = () => openSync(file, APPEND | constants.O_CREAT, 0o600);
  try {
    return open();
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    return open();
  }
}

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * A last line without a newline is what a killed writer or a full disk left: cuts it off, so that the next line does not
 * grow onto it. Returns the size of what stays.
 */
function cutTornLine(fd: number, size: number): number {
  const kept = endOfLastLine(fd, size);
  if (kept < size) ftruncateSync(fd, kept);
  return kept;
}

function endOfLastLine(fd: number, size: number): number {
  // Nearly every file ends well, so the last byte is looked at before any block.
  if (size === 0 || lastNewlineIn(fd, size - 1, size) !== undefined) return size;
  for (let end = size; end > 0; end -= BLOCK_BYTES) {
    const newline = lastNewlineIn(fd, Math.max(0, end - BLOCK_BYTES), end);
    if (newline !== undefined) return newline + 1;
  }
  return 0;
}

function lastNewlineIn(fd: number, from: number, to: number): number | undefined {
  const block = Buffer.allocUnsafe(to - from);
  const bytes = readSync(fd, block, 0, block.length, from);
  const at = block.subarray(0, bytes).lastIndexOf(NEWLINE);
  return at === -1 ? undefined : from + at;
}

/** Where the rollout of a thread goes that begins now. Folder and name tell local time, as Codex's do. */
export function newRolloutPath(codexHome: string, id: ThreadId, startedAt: Date): string {
  const { year, month, day } = localDate(startedAt);
  const time = [startedAt.getHours(), startedAt.getMinutes(), startedAt.getSeconds()].map(twoDigits).join("-");
  return path.join(dayFolder(codexHome, startedAt), `rollout-${year}-${month}-${day}T${time}-${id}.jsonl`);
}

/** Threads lie by the day on which they began. */
export function dayFolder(codexHome: string, date: Date): string {
  const { year, month, day } = localDate(date);
  return path.join(codexHome, "sessions", year, month, day);
}

function localDate(date: Date): { year: string; month: string; day: string } {
  return { year: String(date.getFullYear()), month: twoDigits(date.getMonth() + 1), day: twoDigits(date.getDate()) };
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** `rollout-2026-01-27T10-32-31-<uuid>.jsonl`: when the thread began, in the local time of its machine, and which it is. */
const FILE_NAME = /^rollout-(\d{4})-(\d{2})-(\d{2})T\d{2}-\d{2}-\d{2}-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

interface RolloutName {
  readonly threadId: ThreadId;
  /** YYYY, MM, DD: the folders it belongs into. */
  readonly day: readonly string[];
}

/** Undefined for a file that is no rollout. Names of rollouts sort by age, then by id. */
export function parseRolloutName(name: string): RolloutName | undefined {
  const [, ...parts] = FILE_NAME.exec(name) ?? [];
  const id = parts.pop();
  return id === undefined ? undefined : { threadId: threadIdOf(id), day: parts };
}
