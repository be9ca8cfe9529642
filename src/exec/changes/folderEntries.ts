import { type BigIntStats, type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import path from "node:path";

/** Tells one state of a file from another, without reading it. The time of its last change cannot be set by whoever writes it. */
export interface FileState {
  readonly key: string;
  readonly bornMs: number;
  readonly changedMs: number;
  readonly isFile: boolean;
  readonly bytes: number;
}

/** Undefined when there is nothing of that name. Links are not followed. */
export function markOf(file: string): FileState | undefined {
  try {
    return asMark(lstatSync(file, { bigint: true }));
  } catch {
    return undefined;
  }
}

function asMark(stats: BigIntStats): FileState {
  return {
    key: `${stats.ino} ${stats.size} ${stats.mode} ${stats.mtimeNs} ${stats.ctimeNs}`,
    bornMs: Number(stats.birthtimeMs),
    changedMs: Number(stats.ctimeMs),
    isFile: stats.isFile(),
    bytes: Number(stats.size),
  };
}

/** When entries of a folder were made or removed last; 0 where there is no folder. */
export function entriesChangedMs(folder: string): number {
  try {
    return Number(lstatSync(folder, { bigint: true }).mtimeMs);
  } catch {
    return 0;
  }
}

/** More than this is looked at by nobody while a call waits. */
const MOST_ENTRIES = 4_000;

/** Every file below a folder that may be read, and how it is, by its name in there. Undefined when there are too many, or they take too long. */
export async function folderEntries(
  folder: string,
  { mayRead, signal }: { readonly mayRead: (file: string) => boolean; readonly signal: AbortSignal },
): Promise<Map<string, FileState> | undefined> {
  const found = new Map<string, FileState>();
  const waiting = [""];
  let seen = 0;
  for (let within = waiting.pop(); within !== undefined; within = waiting.pop()) {
    for (const entry of await entriesOf(path.join(folder, within))) {
      if (++seen > MOST_ENTRIES || signal.aborted) return undefined;
      const name = path.join(within, entry.name);
      if (!mayRead(path.join(folder, name))) continue;
      if (entry.isDirectory()) waiting.push(name);
      else {
        const mark = markOf(path.join(folder, name));
        if (mark) found.set(name, mark);
      }
    }
  }
  return found;
}

/** One that is gone by now, or may not be looked into, has none. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      entries.push(entry);
      if (entries.length > MOST_ENTRIES) break;
    }
  } catch {
    // What was seen so far is all that can be.
  }
  return entries;
}
