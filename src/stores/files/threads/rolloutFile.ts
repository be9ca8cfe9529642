import { closeSync, constants, fdatasync as fdatasyncWithCallback, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../../lib/errors.js";
import { makeFolderSync } from "../../../lib/files/makeFolder.js";
import { type ThreadId, threadIdOf } from "../../../lib/ids.js";
import { storageFailure } from "../failure.js";

/** Identity and length of a file: differs as soon as another process has written to it or replaced it. */
export interface FileMark {
  readonly inode: number;
  readonly size: number;
}

export function isSameMark(a: FileMark, b: FileMark | undefined): boolean {
  return a.inode === b?.inode && a.size === b.size;
}

// Made once, because `promisify` is slow.
const fdatasync = promisify(fdatasyncWithCallback);

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
  /** The file as found, before a torn last line was cut off. */
  readonly foundAs: FileMark;
  readonly #fd: number;
  #size: number;

  private constructor({ path: file, fd, foundAs, size }: OpenRollout) {
    this.path = file;
    this.foundAs = foundAs;
    this.#fd = fd;
    this.#size = size;
  }

  /** Undefined when there is no such file. `leftAs`: the mark of the file when this process last wrote to it. */
  static openExisting(file: string, leftAs?: FileMark): RolloutFile | undefined {
    try {
      return RolloutFile.#of(file, openSync(file, APPEND), leftAs);
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

  static #of(file: string, fd: number, leftAs?: FileMark): RolloutFile {
    try {
      const { ino: inode, size } = fstatSync(fd);
      const foundAs = { inode, size };
      // A file that only this process has written since ends with a whole line.
      return new RolloutFile({ path: file, fd, foundAs, size: isSameMark(foundAs, leftAs) ? size : cutTornLine(fd, size) });
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Whether it was written since it was opened. */
  get wasWritten(): boolean {
    return this.#wasWritten;
  }

  /** The file's mark after our writes; it excludes lines that another process added meanwhile, so that those will be noticed. */
  get leftAs(): FileMark {
    return { inode: this.foundAs.inode, size: this.#size };
  }

  /** Afterwards the kernel has all of the text, or none of it is in the file. */
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

  /** Resolves when everything written would survive a power failure. Does nothing if nothing was written since the last time. */
  flush(): Promise<void> {
    if (this.#flushed?.size !== this.#size) this.#flushed = { size: this.#size, done: this.#flush() };
    return this.#flushed.done;
  }

  async #flush(): Promise<void> {
    try {
      await fdatasync(this.#fd);
    } catch (error) {
      throw storageFailure("flush the thread's file", this.path, error);
    }
  }

  async flushAndClose(): Promise<void> {
    try {
      await this.flush();
    } finally {
      // Nothing is left to be written, so this does not wait for the disk.
      closeSync(this.#fd);
    }
  }

  closeUnflushed(): void {
    closeSync(this.#fd);
  }

  #takeBack(written: number): void {
    try {
      ftruncateSync(this.#fd, fstatSync(this.#fd).size - written);
    } catch {
      // If the disk refuses this too, a torn line remains, which the next opening cuts off.
    }
  }
}

/** Private to the user: a rollout contains everything said and read. */
function openMakingFolders(file: string): number {
  const open = () => openSync(file, APPEND | constants.O_CREAT, 0o600);
  try {
    return open();
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    makeFolderSync(path.dirname(file));
    return open();
  }
}

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * A last line without a newline was left by a killed writer or a full disk: cuts it off, so that the next line is not appended to it.
 * Returns the remaining size.
 */
function cutTornLine(fd: number, size: number): number {
  const kept = endOfLastLine(fd, size);
  if (kept < size) ftruncateSync(fd, kept);
  return kept;
}

function endOfLastLine(fd: number, size: number): number {
  // Nearly every file ends properly, so the last byte is checked before reading a block.
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

/** The path for a new thread's rollout. Folder and name use local time, like Codex's. */
export function newRolloutPath(codexHome: string, id: ThreadId, startedAt: Date): string {
  const { year, month, day } = localDate(startedAt);
  const time = [startedAt.getHours(), startedAt.getMinutes(), startedAt.getSeconds()].map(twoDigits).join("-");
  return path.join(dayFolder(codexHome, startedAt), `rollout-${year}-${month}-${day}T${time}-${id}.jsonl`);
}

/** Threads are stored by the day they began. */
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

/** `rollout-2026-01-27T10-32-31-<uuid>.jsonl`: the thread's start in its machine's local time, and its id. */
const FILE_NAME = /^rollout-(\d{4})-(\d{2})-(\d{2})T\d{2}-\d{2}-\d{2}-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

interface RolloutName {
  readonly threadId: ThreadId;
  /** YYYY, MM, DD: its folders. */
  readonly day: readonly string[];
}

/** Undefined for a file that is not a rollout. Rollout names sort by age, then by id. */
export function parseRolloutName(name: string): RolloutName | undefined {
  const [, ...parts] = FILE_NAME.exec(name) ?? [];
  const id = parts.pop();
  return id === undefined ? undefined : { threadId: threadIdOf(id), day: parts };
}
