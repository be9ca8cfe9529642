import { close, closeSync, constants, fdatasync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../../lib/errors.js";
import { storageFailure } from "../failure.js";

/** Which file it was and how long: differs as soon as anybody else has written, or put another file in its place. */
export interface FileMark {
  readonly inode: number;
  readonly size: number;
}

const APPEND = constants.O_RDWR | constants.O_APPEND;

/** A rollout open for appending whole lines. */
export class RolloutFile {
  #wasWritten = false;
  #flushed: { readonly size: number; readonly done: Promise<void> } | undefined;

  private constructor(
    readonly path: string,
    private readonly fd: number,
    /** The file as it was found, before a torn last line was cut off. */
    readonly foundAs: FileMark,
    private size: number,
  ) {}

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
      return new RolloutFile(file, fd, { inode, size }, cutTornLine(fd, size));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  /** Since it was opened. */
  get wasWritten(): boolean {
    return this.#wasWritten;
  }

  /** The file as we leave it; lines that somebody else added meanwhile are not counted, so that they will be noticed. */
  get leftAs(): FileMark {
    return { inode: this.foundAs.inode, size: this.size };
  }

  /** All of the text is with the kernel afterwards, or none of it is in the file. */
  append(text: string): void {
    const bytes = Buffer.from(text);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.fd, bytes, written);
    } catch (error) {
      this.#takeBack(written);
      throw storageFailure("write the thread's file", this.path, error);
    }
    this.size += bytes.length;
    this.#wasWritten = true;
  }

  /** Resolves when what was written would survive a power failure. Nothing new since the last time is no work. */
  flush(): Promise<void> {
    if (this.#flushed?.size !== this.size) this.#flushed = { size: this.size, done: this.#flush() };
    return this.#flushed.done;
  }

  async #flush(): Promise<void> {
    try {
      await promisify(fdatasync)(this.fd);
    } catch (error) {
      throw storageFailure("bring to the disk the thread's file", this.path, error);
    }
  }

  async flushAndClose(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await promisify(close)(this.fd);
    }
  }

  closeUnflushed(): void {
    closeSync(this.fd);
  }

  #takeBack(written: number): void {
    try {
      ftruncateSync(this.fd, fstatSync(this.fd).size - written);
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
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
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
