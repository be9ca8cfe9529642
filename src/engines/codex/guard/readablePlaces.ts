import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { SHARED_FOLDERS } from "../../../exec/outside/writablePlaces.js";
import { isVisible, type VisibleFiles } from "../../../exec/sandbox/hiddenPlaces.js";
import { isBelow, isInside, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import { CodexRefused } from "../errors.js";

/** Codex's sandbox has its own. */
const MADE_BY_SANDBOX = ["/proc", "/dev"];
/** Each becomes a mount of every command. */
const MOST_PLACES = 2_000;

/**
 * The largest places that hold nothing hidden: together they are all that may be read. Codex's sandbox shows what it is told to
 * show; what lies beside it is not there, whether it exists today, comes to be later or is replaced.
 */
export async function readablePlaces(files: VisibleFiles): Promise<string[]> {
  const places = [...new Set(await opened("/", files))].filter((place) => !MADE_BY_SANDBOX.includes(place));
  if (places.length > MOST_PLACES)
    throw new CodexRefused(
      `The folders around what is hidden from callers have ${places.length} entries, more than Codex's sandbox can be told about (${MOST_PLACES}). ` +
        "Keep CODEX_HOME, token and key files in folders with fewer neighbours, or use --engine native.",
    );
  return places.filter((place) => !places.some((other) => isBelow(place, other)));
}

async function opened(folder: string, files: VisibleFiles): Promise<string[]> {
  const { hidden, shown } = files;
  if (hidden.some((place) => place.folder === folder && place.names === undefined))
    return all(shown.filter((place) => isBelow(place, folder)).map((place) => opened(place, files)));
  if (!hidden.some((place) => isInside(place.folder, folder))) return [folder];
  const secret = hidden.flatMap((place) => (place.folder === folder ? (place.names ?? []) : []));
  const entries = (await entriesOf(folder)).filter(({ name }) => !secret.includes(name) && isSteady(path.join(folder, name), files));
  return all(entries.map((entry) => openedEntry(path.join(folder, entry.name), entry, files)));
}

/** Files that everybody leaves come and go, and a mount of one that has just gone would fail the command. */
function isSteady(file: string, { hidden }: VisibleFiles): boolean {
  return !SHARED_FOLDERS.some((folder) => folder === path.dirname(file)) || hidden.some(({ folder }) => isInside(folder, file));
}

async function openedEntry(file: string, entry: Dirent, files: VisibleFiles): Promise<string[]> {
  if (entry.isSymbolicLink()) return leadsToNothingHidden(file, files) ? [file] : [];
  if (entry.isDirectory()) return opened(file, files);
  return entry.isFile() ? [file] : [];
}

function leadsToNothingHidden(link: string, files: VisibleFiles): boolean {
  const real = resolvedAsFarAsPossible(link);
  return isVisible(files, real) && !files.hidden.some(({ folder }) => isInside(folder, real));
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    // What the server's user cannot list, commands cannot either.
    return [];
  }
}

async function all(lists: readonly Promise<string[]>[]): Promise<string[]> {
  return (await Promise.all(lists)).flat();
}
