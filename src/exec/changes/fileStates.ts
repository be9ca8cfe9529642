import { type BigIntStats, type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import path from "node:path";
import { nameOf, pathOf } from "./fileNames.js";

/** Distinguishes states of a file without reading it. Programs cannot set the time of the last status change. */
export interface FileState {
  readonly key: string;
  readonly bornMs: number;
  readonly changedMs: number;
  readonly isFile: boolean;
  readonly bytes: number;
}

/** Undefined when the path does not exist. Links are not followed. */
export function markOf(file: string): FileState | undefined {
  try {
    return asMark(lstatSync(pathOf(file), { bigint: true }));
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

/** A deletion changes the timestamp of the containing folder. */
export function changedMs(file: string, mark: FileState | undefined): number {
  return mark ? mark.changedMs : entriesChangedMs(path.dirname(file));
}

/** When entries of the folder were last created or removed; 0 where there is no folder. */
function entriesChangedMs(folder: string): number {
  try {
    return Number(lstatSync(pathOf(folder), { bigint: true }).mtimeMs);
  } catch {
    return 0;
  }
}

/** Examining more entries would delay the call too much. */
const MOST_ENTRIES = 4_000;

/** The state of every readable file below a folder but git's own, by relative path. Undefined when there are too many or it takes too long. */
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
      const name = path.join(within, nameOf(Buffer.from(entry.name, "latin1")));
      if (entry.name === ".git" || !mayRead(path.join(folder, name))) continue;
      if (entry.isDirectory()) waiting.push(name);
      else {
        const mark = markOf(path.join(folder, name));
        if (mark) found.set(name, mark);
      }
    }
  }
  return found;
}

/** Each name has one character per byte. Empty for a folder that is gone or unreadable. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(pathOf(folder), { encoding: "latin1" })) {
      entries.push(entry);
      if (entries.length > MOST_ENTRIES) break;
    }
  } catch {
    // The entries read so far are all that is available.
  }
  return entries;
}
