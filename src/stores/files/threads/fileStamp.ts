import { type Stats, statSync } from "node:fs";

/** How a file or folder was at one moment. Whatever is done to it, and whatever is put in its place, gives it another one. */
export interface FileStamp {
  readonly inode: number;
  readonly size: number;
  readonly modifiedAt: number;
  /** Nobody can set it back, as `touch` and copying programs do with the time of modification. */
  readonly changedAt: number;
}

/** The coarsest clock of a file system has steps of two seconds. */
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
 * Whether a stamp that was taken before a look can be trusted later: what changes within one step of the clock after the look leaves the same
 * stamp. A stamp of the future is not trusted either: the clock was set back.
 */
export function isSettled({ modifiedAt, changedAt }: FileStamp, lookedAt: number): boolean {
  return lookedAt - Math.max(modifiedAt, changedAt) > CLOCK_STEP_MS;
}

/** Links are followed. Undefined when there is nothing, or nothing that can be reached. */
export function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
