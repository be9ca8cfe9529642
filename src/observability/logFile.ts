import { constants } from "node:fs";
import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import path from "node:path";
import { AppError, describe, errorCode } from "../lib/errors.js";
import { makeFolder } from "../lib/files/makeFolder.js";
import { endsWithin, monotonicMs } from "../lib/promises.js";
import type { LogFilter, LogLine, LogSink } from "./log.js";

/** How long lines are collected before they are written. */
const GATHER_MS = 50;
/** The limit of lines that wait to be formatted, off the caller's path. */
const MAX_FRESH = 16;
/** The limit of lines that wait for the disk; further ones are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** The delay before a retry after a write error. */
const RETRY_MS = 2_000;
/** The time limit for the last lines before the process exits. */
const CLOSE_MS = 1_000;

interface LogFileOptions {
  readonly codexHome: string;
  readonly filter: LogFilter;
  /** Reports a problem with the file on another channel. */
  readonly complain: (text: string) => void;
}

/** The log file as a sink that never blocks its callers. Nothing is created or opened before the first line. */
export class LazyLogFile implements LogSink {
  readonly filter: LogFilter;
  readonly #path: string;
  readonly #complain: (text: string) => void;
  #fresh: (() => LogLine)[] = [];
  #waiting: string[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #lostUntold = 0;
  #file: LogFile | undefined;
  #writing: Promise<void> | undefined;
  /** Ends the wait for more lines. */
  #hurry: () => void = () => undefined;
  #state: { readonly at: "open" | "closed" } | { readonly at: "refused"; readonly retryAt: number } = { at: "open" };

  constructor({ codexHome, filter, complain }: LogFileOptions) {
    this.filter = filter;
    this.#path = path.join(codexHome, "log", "codex-mcp-server.log");
    this.#complain = complain;
  }

  /** The number of lines that did not fit into the buffer, or could not be formatted. */
  get lost(): number {
    return this.#lost;
  }

  write(line: () => LogLine): void {
    if (this.#state.at === "closed") return;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#lose();
    else this.#fresh.push(line);
    if (this.#fresh.length >= MAX_FRESH || this.#state.at === "refused") this.#keepFresh();
    if (this.#state.at === "refused" && monotonicMs() < this.#state.retryAt) return;
    this.#begin();
  }

  async close(): Promise<void> {
    if (this.#state.at === "closed") return;
    this.#hurry();
    const last = (this.#writing ?? Promise.resolve()).then(() => this.#writeAll()).then(() => this.#file?.close());
    this.#state = { at: "closed" };
    await endsWithin(CLOSE_MS, last).catch(() => undefined);
  }

  #keepFresh(): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const line of fresh) {
      try {
        this.#keep(line());
      } catch {
        // The error could reveal what the line must not show, so it is not logged.
        this.#lose();
      }
    }
  }

  #lose(): void {
    this.#lost++;
    this.#lostUntold++;
  }

  #keep(line: LogLine): void {
    const text = jsonLine(line);
    this.#waiting.push(text);
    this.#waitingBytes += text.length;
  }

  /** Lines of about the same time are written together, and the first response need not wait for the file to be opened. */
  #begin(): void {
    this.#writing ??= new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => this.#writeAll());
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    try {
      for (this.#keepFresh(); this.#waiting.length > 0; this.#keepFresh()) await this.#writeBatch(this.#waiting.length);
    } catch (error) {
      this.#refused(error);
    }
    this.#writing = undefined;
  }

  async #writeBatch(count: number): Promise<void> {
    const text = this.#waiting.slice(0, count).join("");
    this.#file ??= openLogFile(this.#path);
    await this.#file.append(text);
    // Lines that arrived meanwhile come after these.
    this.#waiting = this.#waiting.slice(count);
    this.#waitingBytes -= text.length;
    this.#accepted();
  }

  #refused(error: unknown): void {
    const first = this.#state.at === "open";
    if (this.#state.at !== "closed") this.#state = { at: "refused", retryAt: monotonicMs() + RETRY_MS };
    if (first) this.#complain(`the log file ${this.#path} cannot be written: ${describe(error)}; logging resumes when it can be`);
  }

  #accepted(): void {
    if (this.#state.at === "refused") {
      this.#state = { at: "open" };
      this.#complain(`the log file ${this.#path} can be written again`);
    }
    if (this.#lostUntold === 0) return;
    const fields = { lost: this.#lostUntold };
    this.#lostUntold = 0;
    const message = "lines are missing here: the log could not be written";
    this.#keep({ time: new Date(), level: "warn", target: undefined, message, fields });
  }
}

/** One JSON object per line; several processes may write to the same file. */
function jsonLine({ time, level, target, message, fields }: LogLine): string {
  return `${JSON.stringify({ time, level, target, message, pid: process.pid, ...fields })}\n`;
}

/** A file of this size is rotated. */
const LIMIT_BYTES = 10 * 1024 * 1024;
/** Five files with the current one. */
const KEEP_OLD = 4;

export class LogTooLong extends AppError {
  readonly code = "log_too_long";
}

/** One log file that several processes append to. Follows its path: if it is rotated or deleted, a new file is started. */
export interface LogFile {
  /** Takes whole lines. Called by one writer, one call at a time. */
  append(lines: string): Promise<void>;
  close(): Promise<void>;
}

export function openLogFile(file: string, limitBytes = LIMIT_BYTES): LogFile {
  return new SharedLogFile(file, limitBytes);
}

class SharedLogFile implements LogFile {
  #handle: FileHandle | undefined;
  /** Of the open file. */
  #inode = 0;
  /** The last write ended within a line. */
  #torn = false;
  readonly #file: string;
  readonly #limitBytes: number;

  constructor(file: string, limitBytes: number) {
    this.#file = file;
    this.#limitBytes = limitBytes;
  }

  async append(lines: string): Promise<void> {
    try {
      const handle = await this.#current(Buffer.byteLength(lines));
      await this.#write(handle, Buffer.from(this.#torn ? `\n${lines}` : lines));
    } catch (error) {
      // Reopened with the next lines: the file itself may have been the problem.
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #current(coming: number): Promise<FileHandle> {
    let size = await this.#follow();
    if (size > 0 && size + coming > this.#limitBytes) {
      await rotateLog(this.#file, { keepOld: KEEP_OLD, isDue: (bytes) => bytes + coming > this.#limitBytes });
      size = await this.#follow();
    }
    // Another process may be rotating it right now; but it must not grow without limit if no process can.
    if (size > 2 * this.#limitBytes) throw new LogTooLong(`it has ${size} bytes and cannot be rotated`);
    return this.#handle ?? this.#open();
  }

  /** The size of the file at the path; afterwards the handle, if there is one, is for the same file. */
  async #follow(): Promise<number> {
    const there = await statIfThere(this.#file);
    if (there?.ino !== this.#inode) await this.close();
    return there?.size ?? 0;
  }

  async #open(): Promise<FileHandle> {
    await makeFolder(path.dirname(this.#file));
    const handle = await open(this.#file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600);
    this.#handle = handle;
    this.#inode = (await handle.stat()).ino;
    return handle;
  }

  /** A single write each time, so that lines of several processes do not mix. */
  async #write(handle: FileHandle, bytes: Buffer): Promise<void> {
    const { bytesWritten } = await handle.write(bytes);
    this.#torn = bytesWritten > 0 ? bytesWritten < bytes.length : this.#torn;
    if (bytesWritten < bytes.length) throw new LogTooLong("the disk accepted only part of it");
  }
}

async function statIfThere(file: string) {
  try {
    return await stat(file);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A rotation takes milliseconds; an older lock was abandoned. */
const STALE_LOCK_MS = 10_000;

export interface Rotation {
  readonly keepOld: number;
  /** Checked again under the lock: another process may have rotated meanwhile. */
  readonly isDue: (bytes: number) => boolean;
}

/**
 * `x.log` becomes `x.log.1`, that becomes `x.log.2` and so on; the oldest is deleted. One of several processes does it, the others continue
 * to write.
 */
export async function rotateLog(file: string, { keepOld, isDue }: Rotation): Promise<void> {
  const lock = `${file}.lock`;
  if (!(await take(lock))) return;
  try {
    const { size } = (await ifThere(stat(file))) ?? { size: 0 };
    if (!isDue(size)) return;
    for (let age = keepOld - 1; age >= 1; age--) await ifThere(rename(`${file}.${age}`, `${file}.${age + 1}`));
    await rename(file, `${file}.1`);
  } finally {
    await ifThere(unlink(lock));
  }
}

async function take(lock: string): Promise<boolean> {
  if (await create(lock)) return true;
  if (!(await isStale(lock))) return false;
  await ifThere(unlink(lock));
  return create(lock);
}

async function create(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** A lock from the future, after the clock was set back, does not belong to a living process either. */
async function isStale(lock: string): Promise<boolean> {
  const held = await ifThere(stat(lock));
  return held !== undefined && Math.abs(Date.now() - held.mtimeMs) > STALE_LOCK_MS;
}

async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
