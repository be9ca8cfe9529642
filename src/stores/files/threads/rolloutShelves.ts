import { readdirSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { InvalidCursor, StorageFailed } from "../../../threads/errors.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { parseRolloutName } from "./rolloutFile.js";

/** Rollouts that one file of the index tells of: a month of threads, or all that are archived. */
export interface Shelf {
  readonly name: string;
  /** The newest first. */
  readonly folders: () => readonly ShelfFolder[];
}

/** A day of threads, or the archive. */
export interface ShelfFolder {
  readonly name: string;
  readonly path: string;
  /** What a position begins with that is in it. */
  readonly prefix: string;
}

interface Shelves {
  readonly archived: boolean;
  /** Only what may hold something that comes after this position in the list. */
  readonly after?: string | undefined;
}

/** sessions/YYYY/MM/DD; archived threads lie in one folder. */
const LEVELS = [/^\d{4}$/, /^\d{2}$/, /^\d{2}$/] as const;
const [YEAR, MONTH, DAY] = LEVELS;

/** All shelves of a home, the newest first. Looks into no folder before it is its turn. Throws `StorageFailed` when it cannot look at all. */
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

/** The name of the shelf that a rollout is on; of one that lies elsewhere, a name that no shelf has. */
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

/** The rollouts in a folder, the newest first. Throws `StorageFailed` when the folder is there and cannot be looked into. */
export function rolloutNamesIn(folder: string): string[] {
  return childrenOf(folder, undefined);
}

/** One folder that cannot be looked into does not hide the others. */
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

/** Without waiting: the way by the pool of threads takes ten times as long as the reading. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw storageFailure("look for threads in", folder, error);
  }
}

/** Throws `InvalidCursor` for what is no position in this list. */
export function checkPosition(position: string, { archived }: Pick<Shelves, "archived">): string {
  const steps = position.split("/");
  const name = steps.pop() ?? "";
  const levels = archived ? [] : LEVELS;
  const fits = parseRolloutName(name) && steps.length === levels.length && levels.every((level, at) => level.test(steps[at] ?? ""));
  if (!fits) throw new InvalidCursor();
  return position;
}
