import { type Dirent, promises } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { type ThreadId, timeOfUuid } from "../../../lib/ids.js";
import { InvalidCursor, StorageFailed } from "../../../threads/errors.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { dayFolder, parseRolloutName } from "./rolloutFile.js";

/**
 * The rollout of a thread, wherever it is kept. Looks first where a thread of this id's age must be, so that a large
 * home costs nothing; then among the archived ones; then everywhere, newest folders first. Opens no file.
 */
export async function findRollout(codexHome: string, id: ThreadId): Promise<string | undefined> {
  for (const folder of [...likelyFolders(codexHome, id), path.join(codexHome, "archived_sessions")]) {
    const found = rolloutIn(folder, await entriesOf(folder), id);
    if (found !== undefined) return found;
  }
  return searchBelow(path.join(codexHome, "sessions"), id, DAY_FOLDER_DEPTH);
}

/** Those of several threads: a folder in which many of them lie is read once. */
export async function findRollouts(codexHome: string, ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>> {
  const folders = new Map<string, Promise<ReadonlyMap<ThreadId, string>>>();
  const found = await Promise.all(
    ids.map(async (id) => {
      for (const folder of likelyFolders(codexHome, id)) {
        const here = folders.get(folder) ?? rolloutsById(folder);
        folders.set(folder, here);
        const file = (await here).get(id);
        if (file !== undefined) return [[id, file] as const];
      }
      const elsewhere = await findRollout(codexHome, id);
      return elsewhere === undefined ? [] : [[id, elsewhere] as const];
    }),
  );
  return new Map(found.flat());
}

async function rolloutsById(folder: string): Promise<ReadonlyMap<ThreadId, string>> {
  const places = (await entriesOf(folder)).flatMap(({ name }) => {
    const parsed = parseRolloutName(name);
    return parsed ? [[parsed.threadId, path.join(folder, name)] as const] : [];
  });
  return new Map(places);
}

/** sessions/YYYY/MM/DD */
const DAY_FOLDER_DEPTH = 3;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The day the id was made and its neighbours: the zone may have been another, and a record may begin after midnight. */
function likelyFolders(codexHome: string, id: ThreadId): string[] {
  const madeAt = timeOfUuid(id);
  if (madeAt === undefined) return [];
  return [0, DAY_MS, -DAY_MS].map((shift) => dayFolder(codexHome, new Date(madeAt + shift)));
}

async function searchBelow(folder: string, id: ThreadId, depth: number): Promise<string | undefined> {
  const entries = await entriesOf(folder);
  const found = rolloutIn(folder, entries, id);
  if (found !== undefined || depth === 0) return found;
  const folders = entries.filter((entry) => !entry.isFile()).map((entry) => entry.name);
  for (const name of folders.sort(descending)) {
    const deeper = await searchBelow(path.join(folder, name), id, depth - 1);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

function rolloutIn(folder: string, entries: readonly Dirent[], id: ThreadId): string | undefined {
  const found = entries.find(({ name }) => name.startsWith("rollout-") && name.endsWith(`-${id}.jsonl`));
  return found && path.join(folder, found.name);
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    // By way of node:fs, which loads this half of itself when it is first used: a new thread does not need it.
    return await promises.readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw storageFailure("look for threads in", folder, error);
  }
}

function descending(a: string, b: string): number {
  return b.localeCompare(a, "en", { numeric: true });
}

/** A rollout by its place in the order of all. */
interface RolloutPlace {
  readonly path: string;
  /** Folders and name below the folder of all: tells day, second and id, and sorts by them. */
  readonly position: string;
}

interface Walk {
  readonly archived: boolean;
  /** Only what comes after this position in the list. */
  readonly after?: string | undefined;
}

export function isArchivedRollout(file: string, codexHome: string): boolean {
  return path.dirname(file) === path.join(codexHome, "archived_sessions");
}

/** sessions/YYYY/MM/DD; archived threads lie in one folder. */
const LEVELS = [/^\d{4}$/, /^\d{2}$/, /^\d{2}$/];

/** All rollouts of a home, newest first. Opens no file, and no folder before it is its turn. */
export async function* rolloutsNewestFirst(codexHome: string, { archived, after }: Walk): AsyncGenerator<RolloutPlace> {
  const folder = path.join(codexHome, archived ? "archived_sessions" : "sessions");
  yield* below({ folder, prefix: "", levels: archived ? [] : LEVELS, after });
}

/** Throws `InvalidCursor` for what is no position in this list. */
export function checkPosition(position: string, { archived }: Pick<Walk, "archived">): string {
  const steps = position.split("/");
  const name = steps.pop() ?? "";
  const levels = archived ? [] : LEVELS;
  const fits = parseRolloutName(name) && steps.length === levels.length && levels.every((level, at) => level.test(steps[at] ?? ""));
  if (!fits) throw new InvalidCursor();
  return position;
}

interface Branch {
  readonly folder: string;
  readonly prefix: string;
  readonly levels: readonly RegExp[];
  readonly after: string | undefined;
}

async function* below({ folder, prefix, levels, after }: Branch): AsyncGenerator<RolloutPlace> {
  const [level, ...deeper] = levels;
  const entries = await entriesOf(folder);
  const names = entries.map(({ name }) => name).filter((name) => (level ? level.test(name) : parseRolloutName(name)));
  for (const name of names.sort().reverse()) {
    const position = `${prefix}${name}`;
    const place = path.join(folder, name);
    if (!level) {
      if (after === undefined || position < after) yield { path: place, position };
    } else if (after === undefined || position <= after.slice(0, position.length)) {
      yield* readable(below({ folder: place, prefix: `${position}/`, levels: deeper, after }));
    }
  }
}

/** One folder that cannot be looked into does not hide the others. */
async function* readable(places: AsyncGenerator<RolloutPlace>): AsyncGenerator<RolloutPlace> {
  try {
    yield* places;
  } catch (error) {
    if (!(error instanceof StorageFailed) || isOutOfFiles(error)) throw error;
  }
}
