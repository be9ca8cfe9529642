import { ftruncateSync, readSync } from "node:fs";

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * A last line without a newline is what a killed writer or a full disk left: cuts it off, so that the next line does not
 * grow onto it. Returns the size of what stays.
 */
export function cutTornLine(fd: number, size: number): number {
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
