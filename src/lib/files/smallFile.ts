import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, type Stats, statfsSync, statSync } from "node:fs";
import { descriptorPath, isKernelFileSystem, isKernelPlace } from "./kernelFiles.js";
import { ReadRefused } from "./readRefused.js";

/** Never waits for a pipe or a device that somebody put at the path. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Reads a small text in one go: git's pointers, instructions that a setting names. It is for places where nothing may be waited for, and takes
 * as long as its limit allows. What it reads must not reach a model or caller as it is, or somebody must have named the file who may read it:
 * links are followed, though never into what the kernel makes up. Throws ReadRefused, or what the system says.
 */
export function readSmallFile(file: string, { maxBytes }: { readonly maxBytes: number }): string {
  // Opening a device can be a deed of its own.
  assertPlain(statSync(file));
  const fd = openSync(file, FLAGS);
  try {
    assertPlain(fstatSync(fd));
    assertNotTheKernels(fd);
    const bytes = bytesUpTo(fd, maxBytes + 1);
    if (bytes.length > maxBytes) throw new ReadRefused("size", { maxBytes });
    return bytes.toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** Undefined where there is nothing that can be read like this. */
export function smallFileIfAny(file: string, limit: { readonly maxBytes: number }): string | undefined {
  try {
    return readSmallFile(file, limit);
  } catch {
    return undefined;
  }
}

/** Reading a folder fails with the system's own words for it. */
function assertPlain(stats: Stats): void {
  if (!stats.isFile() && !stats.isDirectory()) throw new ReadRefused("kind");
}

function assertNotTheKernels(fd: number): void {
  const link = descriptorPath(fd);
  if (link !== undefined && (isKernelPlace(readlinkSync(link)) || isKernelFileSystem(statfsSync(link).type)))
    throw new ReadRefused("kernel");
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
