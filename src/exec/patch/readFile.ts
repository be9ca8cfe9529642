import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { AppError } from "../../lib/errors.js";

/** Beyond this a patch is the wrong tool, and old and new text would not fit in memory several times over. */
const MAX_FILE_MIB = 64;

/** There is something at the path that a patch cannot work on. */
export class NotPatchable extends AppError {
  readonly code = "not_patchable";
}

export interface FileOnDisk {
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
}

export async function readRegularFile(path: string): Promise<Buffer> {
  return (await readFileOnDisk(path, { followLink: true })).bytes;
}

/** Never waits for a pipe or device that somebody put at the path. */
export async function readFileOnDisk(path: string, { followLink }: { followLink: boolean }): Promise<FileOnDisk> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLink ? 0 : constants.O_NOFOLLOW);
  await using file = await open(path, flags);
  const stats = await file.stat({ bigint: true });
  return { bytes: await bytesOf(file, stats), stats };
}

async function bytesOf(file: FileHandle, stats: BigIntStats): Promise<Buffer> {
  // Reading a folder fails with the system's own words for it.
  if (!stats.isFile() && !stats.isDirectory()) throw new NotPatchable("it is not a regular file");
  if (stats.size > MAX_FILE_MIB * 1024 * 1024) throw new NotPatchable(`it is larger than ${MAX_FILE_MIB} MiB`);
  return await file.readFile();
}

/** Throws NotPatchable for bytes that are not UTF-8. */
export function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new NotPatchable("stream did not contain valid UTF-8", { cause: error });
  }
}
