import { constants, promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { isFields } from "../../../lib/fields.js";
import { threadIdOf } from "../../../lib/ids.js";
import { StorageFailed } from "../../../threads/errors.js";
import { parseLine } from "./rolloutLines.js";
import { findRollout } from "./rolloutPaths.js";

/** Opens a rollout to read it. Never blocks on a pipe or a device of that name, which is no rollout: throws `StorageFailed`. */
export async function openRollout(path: string): Promise<FileHandle> {
  const file = await promises.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  // Reading a folder fails with the system's own error.
  if (stats.isFile() || stats.isDirectory()) return file;
  await file.close();
  throw new StorageFailed(`Cannot read the thread's file ${path}: it is not a regular file. Move it away, or start a new thread.`);
}

/** The limit for forks of forks: longer than realistic chains, and it detects files that refer to each other. */
const MOST_ANCESTORS = 64;

/**
 * All lines of a thread: those of its file and, after the first, those of the thread it was forked from, as far as its first line refers to
 * them. Older versions of Codex copied them into the fork; since 0.15x it refers to them.
 */
export async function* threadLines(file: FileHandle, codexHome: string, limits: ReadLimits = {}): AsyncGenerator<Buffer> {
  yield* linesOf(file, { codexHome, limits, ancestors: 0 });
}

interface Reading {
  readonly codexHome: string;
  readonly limits: ReadLimits;
  readonly ancestors: number;
}

async function* linesOf(file: FileHandle, reading: Reading): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const line of completeLines(file, reading.limits)) {
    const past = isFirst ? pastIn(line) : undefined;
    isFirst = false;
    yield line;
    if (past) yield* linesOfPast(past, reading);
  }
}

interface Past {
  readonly threadId: string;
  readonly endByte: number;
}

async function* linesOfPast({ threadId, endByte }: Past, { codexHome, limits, ancestors }: Reading): AsyncGenerator<Buffer> {
  const found = ancestors < MOST_ANCESTORS ? await findRollout(codexHome, threadIdOf(threadId)) : undefined;
  if (found === undefined)
    throw new StorageFailed(`The thread was forked from thread ${threadId}, whose file is gone. Put it back, or start a new thread.`);
  await using file = await openRollout(found);
  const nearer = Math.min(endByte, limits.endByte ?? endByte);
  yield* linesOf(file, { codexHome, limits: { ...limits, endByte: nearer }, ancestors: ancestors + 1 });
}

/** The reference to the history of a fork that does not contain a copy. */
export function pastIn(line: Buffer): Past | undefined {
  if (!line.includes('"history_base"')) return undefined;
  const { type, payload } = parseLine(line) ?? {};
  const base = type === "session_meta" ? payload?.["history_base"] : undefined;
  if (!isFields(base)) return undefined;
  const { thread_id: threadId, end_byte_offset: endByte } = base;
  return typeof threadId === "string" && typeof endByte === "number" ? { threadId, endByte } : undefined;
}

/** The lines of a block are parsed in one go. */
const BLOCK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

interface ReadLimits {
  /** Lines that end after this byte are not returned. */
  readonly endByte?: number;
  /** The read size; smaller for callers that need only a few lines. */
  readonly blockBytes?: number;
  /** Longer lines are shortened to about this size. */
  readonly longestLine?: number;
}

/**
 * The complete lines of a file, as bytes that are valid until the next one is requested. Holds one line and one block in memory, however
 * large the file is. A last line without a newline is skipped: its writer died.
 */
async function* completeLines(
  file: FileHandle,
  { endByte = Number.POSITIVE_INFINITY, blockBytes = BLOCK_BYTES, longestLine = Number.POSITIVE_INFINITY }: ReadLimits = {},
): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafe(blockBytes);
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for (let at = 0; at < endByte; ) {
    const { bytesRead } = await file.read(block, 0, Math.min(blockBytes, endByte - at), null);
    if (bytesRead === 0) return;
    at += bytesRead;
    let rest = block.subarray(0, bytesRead);
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      const line = rest.subarray(0, end);
      yield begun.length === 0 ? line : Buffer.concat(begunBytes < longestLine ? [...begun, line] : begun);
      begun = [];
      begunBytes = 0;
      rest = rest.subarray(end + 1);
    }
    if (begunBytes < longestLine && rest.length > 0) begun.push(Buffer.from(rest));
    begunBytes += rest.length;
  }
}
