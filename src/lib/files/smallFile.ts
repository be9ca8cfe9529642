import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync, type Stats, statfsSync, statSync } from "node:fs";
import type { MayRead } from "./guardedRead.js";
import { descriptorPath, isKernelFileSystem, isKernelPlace } from "./kernelFiles.js";
import { ReadRefused } from "./readRefused.js";

/** Never blocks on a pipe or a device at the path. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface SmallRead {
  readonly maxBytes: number;
  readonly mayRead?: MayRead;
}

/**
 * Reads a small text file synchronously: git's pointer files, or instructions that a setting names. It is for code that must not await, and
 * blocks for as long as its limit allows. One of three must hold: the content does not reach a model or caller unchanged, the file was
 * named by someone who may read it, or `mayRead` checks its real path. Links are followed, but never into kernel files. Throws ReadRefused
 * or the system's error.
 */
export function readSmallFile(file: string, { maxBytes, mayRead }: SmallRead): string {
  if (mayRead) assertReadable(realpathSync.native(file), mayRead);
  // Merely opening a device can have side effects.
  assertPlain(statSync(file));
  const fd = openSync(file, FLAGS);
  try {
    assertPlain(fstatSync(fd));
    const opened = assertNotTheKernels(fd);
    // A folder on the path may have become a link meanwhile.
    if (mayRead && opened !== undefined) assertReadable(opened, mayRead);
    const bytes = bytesUpTo(fd, maxBytes + 1);
    if (bytes.length > maxBytes) throw new ReadRefused("size", { maxBytes });
    return bytes.toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** Undefined where there is no file that can be read this way. */
export function smallFileIfAny(file: string, how: SmallRead): string | undefined {
  try {
    // Most are missing or folders, and a failed read constructs an error.
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readSmallFile(file, how) : undefined;
  } catch {
    return undefined;
  }
}

/** Reading a folder fails with the system's own error. */
function assertPlain(stats: Stats): void {
  if (!stats.isFile() && !stats.isDirectory()) throw new ReadRefused("kind");
}

function assertReadable(realPath: string, mayRead: MayRead): void {
  if (!mayRead(realPath)) throw new ReadRefused("hidden");
}

/** Returns the real path of the open file, where the system provides it. */
function assertNotTheKernels(fd: number): string | undefined {
  const link = descriptorPath(fd);
  if (link === undefined) return undefined;
  const opened = readlinkSync(link);
  if (isKernelPlace(opened) || isKernelFileSystem(statfsSync(link).type)) throw new ReadRefused("kernel");
  return opened;
}

const BLOCK_BYTES = 16 * 1024;

function bytesUpTo(fd: number, most: number): Buffer {
  const blocks: Buffer[] = [];
  for (let left = most; left > 0; ) {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, left));
    const length = readSync(fd, block, 0, block.length, null);
    if (length === 0) break;
    blocks.push(block.subarray(0, length));
    left -= length;
  }
  return Buffer.concat(blocks);
}
