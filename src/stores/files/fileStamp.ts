import { type Stats, statSync } from "node:fs";

/** The state of a file or folder at one moment. Any change or replacement changes the stamp. */
export interface FileStamp {
  readonly inode: number;
  readonly size: number;
  readonly modifiedAt: number;
  /** The time of the last status change, which programs cannot set, unlike the modification time. */
  readonly changedAt: number;
}

/** The coarsest file system clock has steps of two seconds. */
const CLOCK_STEP_MS = 2_000;

export function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): FileStamp {
  return { inode: ino, size, modifiedAt: mtimeMs, changedAt: ctimeMs };
}

export function isSameStamp(one: FileStamp | undefined, other: FileStamp | undefined): boolean {
  if (!one || !other) return false;
  const { inode, size, modifiedAt, changedAt } = one;
  return inode === other.inode && size === other.size && modifiedAt === other.modifiedAt && changedAt === other.changedAt;
}

/**
 * Whether a stamp taken before reading can be trusted later: a change within one clock step after the read leaves the same stamp. A stamp
 * from the future is not trusted either: the clock was set back.
 */
export function isSettled({ modifiedAt, changedAt }: FileStamp, lookedAt: number): boolean {
  return lookedAt - Math.max(modifiedAt, changedAt) > CLOCK_STEP_MS;
}

/** Follows links. Undefined when the file is missing or unreachable. */
export function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
