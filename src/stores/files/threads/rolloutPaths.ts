import { type Dirent, promises } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { type ThreadId, timeOfUuid } from "../../../lib/ids.js";
import { storageFailure } from "../failure.js";
import { dayFolder, parseRolloutName } from "./rolloutFile.js";

/**
 * Finds a thread's rollout. Searches first the folders that match the id's age, so that a large home costs nothing; then the archive; then
 * everywhere, newest folders first. Opens no file.
 */
export async function findRollout(codexHome: string, id: ThreadId): Promise<string | undefined> {
  for (const folder of [...likelyFolders(codexHome, id), path.join(codexHome, "archived_sessions")]) {
    const found = rolloutIn(folder, await entriesOf(folder), id);
    if (found !== undefined) return found;
  }
  return searchBelow(path.join(codexHome, "sessions"), id, DAY_FOLDER_DEPTH);
}

/** Finds several rollouts: a folder that contains many of them is read once. */
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

/** The id's day and its neighbours: the time zone may have differed, and a record may begin after midnight. */
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
    // Through node:fs, which loads its promises API on first use: a new thread does not need it.
    return await promises.readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw storageFailure("look for threads in", folder, error);
  }
}

function descending(a: string, b: string): number {
  return b.localeCompare(a, "en", { numeric: true });
}

export function isArchivedRollout(file: string, codexHome: string): boolean {
  return path.dirname(file) === path.join(codexHome, "archived_sessions");
}
