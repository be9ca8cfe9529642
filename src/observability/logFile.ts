import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import path from "node:path";
import { AppError, errorCode } from "../lib/errors.js";

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
    const [there, ours] = await Promise.all([statIfThere(this.#file), this.#handle?.stat()]);
    if (ours && there?.ino !== ours.ino) await this.close();
    return there?.size ?? 0;
  }

  async #open(): Promise<FileHandle> {
    await mkdir(path.dirname(this.#file), { recursive: true, mode: 0o700 });
    const handle = await open(this.#file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600);
    this.#handle = handle;
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
