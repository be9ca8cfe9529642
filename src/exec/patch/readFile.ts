import { AppError } from "../../lib/errors.js";
import { type MayRead, type ReadFile, readEntry, readGuarded } from "../../lib/files/guardedRead.js";

const MIB = 1024 * 1024;

/** A patch holds old and new text, their lines and their difference at once, about twenty times a file's size: beyond this it is the wrong tool. */
const LIMIT = { maxBytes: 8 * MIB, larger: "refuse" } as const;

/** The same for all files of one patch. */
export const LARGEST_PATCH_BYTES = 16 * MIB;

/** There is something at the path that a patch cannot work on. */
export class NotPatchable extends AppError {
  readonly code = "not_patchable";
}

export type FileOnDisk = Pick<ReadFile, "bytes" | "stats">;

/** What a path leads to. Throws ReadRefused where the thread may not read it. */
export function readFileAt(path: string, mayRead: MayRead): Promise<FileOnDisk> {
  return readGuarded(path, { ...LIMIT, mayRead });
}

/** What lies at a place that was claimed; a link there is none. */
export function readPlace(path: string): Promise<FileOnDisk> {
  return readEntry(path, LIMIT);
}

/** Throws NotPatchable for bytes that are not UTF-8. */
export function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new NotPatchable("stream did not contain valid UTF-8", { cause: error });
  }
}
