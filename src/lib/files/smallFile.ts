import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync, type Stats, statfsSync, statSync } from "node:fs";
import type { MayRead } from "./guardedRead.js";
import { descriptorPath, isKernelFileSystem, isKernelPlace } from "./kernelFiles.js";
import { ReadRefused } from "./readRefused.js";

/** Never waits for a pipe or a device that somebody put at the path. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface SmallRead {
  readonly maxBytes: number;
  readonly mayRead?: MayRead;
}

/**
 * Reads a small text in one go: git's pointers, instructions that a setting names. It is for places where nothing may be waited for, and takes
 * as long as its limit allows. What it reads must not reach a model or caller as it is, or somebody must have named the file who may read it, or
 * `mayRead` judges where its links lead: they are followed, though never into what the kernel makes up. Throws ReadRefused, or what the system says.
 */
export function readSmallFile(file: string, { maxBytes, mayRead }: SmallRead): string {
  if (mayRead) assertReadable(realpathSync.native(file), mayRead);
  // Opening a device can be a deed of its own.
  assertPlain(statSync(file));
  const fd = openSync(file, FLAGS);
  try {
    assertPlain(fstatSync(fd));
    const opened = assertNotTheKernels(fd);
    // A folder may have become a link since.
    if (mayRead && opened !== undefined) assertReadable(opened, mayRead);
    const bytes = bytesUpTo(fd, maxBytes + 1);
    if (bytes.length > maxBytes) throw new ReadRefused("size", { maxBytes });
    return bytes.toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** Undefined where there is nothing that can be read like this. */
export function smallFileIfAny(file: string, how: SmallRead): string | undefined {
  try {
    return readSmallFile(file, how);
  } catch {
    return undefined;
  }
}

/** Reading a folder fails with the system's own words for it. */
function assertPlain(stats: Stats): void {
  if (!stats.isFile() && !stats.isDirectory()) throw new ReadRefused("kind");
}

function assertReadable(realPath: string, mayRead: MayRead): void {
  if (!mayRead(realPath)) throw new ReadRefused("hidden");
}

/** Gives the real path of the open file, where the system tells it. */
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
