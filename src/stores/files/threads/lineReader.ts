import type { FileHandle } from "node:fs/promises";

const BLOCK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface ReadLimits {
  /** Lines that do not end within so many bytes of the file are not shown. */
  readonly endByte?: number;
  /** How much is read at once; less for those who look at a few lines only. */
  readonly blockBytes?: number;
}

/**
 * The lines of a file that end in a newline, as bytes that are valid until the next one is asked for. Holds one line and
 * one block in memory, however large the file is. A last line without a newline is not shown: its writer died.
 */
export async function* completeLines(
  file: FileHandle,
  { endByte = Number.POSITIVE_INFINITY, blockBytes = BLOCK_BYTES }: ReadLimits = {},
): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafe(blockBytes);
  let begun: Buffer[] = [];
  for (let at = 0; at < endByte; ) {
    const { bytesRead } = await file.read(block, 0, Math.min(blockBytes, endByte - at), null);
    if (bytesRead === 0) return;
    at += bytesRead;
    let rest = block.subarray(0, bytesRead);
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      const line = rest.subarray(0, end);
      yield begun.length === 0 ? line : Buffer.concat([...begun, line]);
      begun = [];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) begun.push(Buffer.from(rest));
  }
}
