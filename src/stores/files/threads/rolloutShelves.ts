import { readdirSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { InvalidCursor, StorageFailed } from "../../../threads/errors.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { parseRolloutName } from "./rolloutFile.js";

/** The rollouts covered by one file of the index: a month of threads, or all archived ones. */
export interface Shelf {
  readonly name: string;
  /** Newest first. */
  readonly folders: () => readonly ShelfFolder[];
}

/** A day of threads, or the archive. */
export interface ShelfFolder {
  readonly name: string;
  readonly path: string;
  /** The prefix of all positions in it. */
  readonly prefix: string;
}

interface Shelves {
  readonly archived: boolean;
  /** Only parts that may contain something after this position in the list. */
  readonly after?: string | undefined;
}

/** sessions/YYYY/MM/DD; archived threads are in one folder. */
const LEVELS = [/^\d{4}$/, /^\d{2}$/, /^\d{2}$/] as const;
const [YEAR, MONTH, DAY] = LEVELS;

/** All shelves of a home, newest first. Folders are read lazily. Throws `StorageFailed` when nothing can be read at all. */
export function* shelvesOf(codexHome: string, { archived, after }: Shelves): Generator<Shelf> {
  if (archived) {
    yield { name: "archived", folders: () => [{ name: "", path: path.join(codexHome, "archived_sessions"), prefix: "" }] };
    return;
  }
  const sessions = path.join(codexHome, "sessions");
  for (const year of childrenOf(sessions, YEAR))
    for (const month of reachable(() => childrenOf(path.join(sessions, year), MONTH))) {
      const prefix = `${year}/${month}/`;
      if (isBefore(prefix, after)) continue;
      yield { name: `sessions-${year}-${month}`, folders: () => daysOf(path.join(sessions, year, month), { prefix, after }) };
    }
}

/** The name of a rollout's shelf; for one that lies elsewhere, a name that no shelf has. */
export function shelfOf(file: string, codexHome: string): string {
  const [top, year, month] = path.relative(codexHome, file).split(path.sep);
  return top === "archived_sessions" ? "archived" : `sessions-${year}-${month}`;
}

function daysOf(folder: string, { prefix, after }: { readonly prefix: string; readonly after: string | undefined }): ShelfFolder[] {
  return reachable(() => childrenOf(folder, DAY))
    .map((name) => ({ name, path: path.join(folder, name), prefix: `${prefix}${name}/` }))
    .filter((day) => !isBefore(day.prefix, after));
}

/** Everything in it comes before the position. */
function isBefore(prefix: string, after: string | undefined): boolean {
  return after !== undefined && prefix > after.slice(0, prefix.length);
}

/** The rollouts in a folder, newest first. Throws `StorageFailed` when the folder exists but cannot be read. */
export function rolloutNamesIn(folder: string): string[] {
  return childrenOf(folder, undefined);
}

/** One unreadable folder does not hide the others. */
export function reachable<T>(look: () => T[]): T[] {
  try {
    return look();
  } catch (error) {
    if (!(error instanceof StorageFailed) || isOutOfFiles(error)) throw error;
    return [];
  }
}

function childrenOf(folder: string, level: RegExp | undefined): string[] {
  const isOne = level ? (name: string) => level.test(name) : (name: string) => parseRolloutName(name) !== undefined;
  return entriesOf(folder).filter(isOne).sort().reverse();
}

/** Synchronous: the thread pool would take ten times as long as the read itself. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw storageFailure("look for threads in", folder, error);
  }
}

/** Throws `InvalidCursor` for an invalid position. */
export function checkPosition(position: string, { archived }: Pick<Shelves, "archived">): string {
  const steps = position.split("/");
  const name = steps.pop() ?? "";
  const levels = archived ? [] : LEVELS;
  const fits = parseRolloutName(name) && steps.length === levels.length && levels.every((level, at) => level.test(steps[at] ?? ""));
  if (!fits) throw new InvalidCursor();
  return position;
}
