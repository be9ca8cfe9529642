import { type Dir, type Dirent, lstatSync, opendirSync } from "node:fs";
import path from "node:path";
import { setImmediate as loopTurn } from "node:timers/promises";
import { errorCode } from "../../lib/errors.js";
import { findCheckout } from "../../lib/files/gitFiles.js";
import { firstNamesIn, isBelow, isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { gitFoldersBehind, PROTECTED_NAMES } from "./policy.js";
import { runByGit } from "./runByGit.js";

/** Names in a project from which other programs learn what to run: editors, agents, shells, direnv. */
const NAMES = new Set([
  ".mcp.json",
  ".vscode",
  ".idea",
  ".envrc",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".cshrc",
  ".tcshrc",
  ".login",
  ".gitconfig",
]);
/** Files of agents and editors with the same power, in folders that contain much else. */
const DEEPER_NAMES: Readonly<Record<string, readonly string[]>> = {
  ".claude": ["settings.json", "settings.local.json"],
  ".cursor": ["mcp.json"],
  ".gemini": ["settings.json"],
};
/** A folder with all of these is a git folder, such as a bare repository. Commands may push to it. */
const GIT_PARTS = new Set(["HEAD", "objects", "refs"]);
const RUN_BY_GIT = ["config", "hooks"];
/** Large, full of third-party content, and not opened as a project. */
const SKIPPED = new Set(["node_modules"]);

interface SearchBounds {
  readonly folders: number;
  readonly entries: number;
  readonly depth: number;
}

/** A search takes a few milliseconds at most, however large the project. */
const USUAL: SearchBounds = { folders: 1_500, entries: 30_000, depth: 8 };
/** The first search in a project may take longer: its result is cached. */
const FIRST: SearchBounds = { folders: 20_000, entries: 400_000, depth: 24 };
/** After this many folders or entries, a search lets other work of the event loop run. */
const FOLDERS_AT_ONCE = 50;
const ENTRIES_AT_ONCE = 1_000;
/** The limit of guarded names. Each is one more mount for every command. */
const MOST_FOUND = 256;
/** The settings of each are read, with the files that they include. */
const MOST_REPOSITORIES = 256;

type NameSet = Pick<ReadonlySet<string>, "has">;

export interface GuardedNames {
  /** Real paths, outermost first. */
  readonly names: readonly string[];
  /** Folders of this user that could not be listed. A command may have taken the permission, and the next one could restore it. */
  readonly unreadable: readonly string[];
  /** False: the project was too large for a complete search. */
  readonly isComplete: boolean;
}

/**
 * The guarded names that exist below a folder, except those in `besides`. For a link, its target counts: nothing can be mounted over the
 * link itself. In inner repositories all of `.git` counts, as at the root: a file in it can name other folders for hooks and settings, which count
 * as well.
 */
async function findGuardedNames(
  root: string,
  { bounds, known, besides }: { readonly bounds: SearchBounds; readonly known: readonly string[]; readonly besides: NameSet },
): Promise<GuardedNames> {
  const names = known.filter((name) => !besides.has(name));
  const unreadable: string[] = [];
  const isKnown = new Set(names);
  const newNames = (found: readonly string[]) =>
    found.filter((name) => !besides.has(name) && !isKnown.has(name) && !names.some((other) => isInside(name, other)));
  const around = findCheckout(root);
  if (around !== undefined) names.push(...newNames(runByGit(around, root)));
  let folders = [root];
  let visited = 0;
  let seen = 0;
  let repositories = 0;
  for (let depth = 0; folders.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of folders) {
      if (depth === bounds.depth || visited++ >= bounds.folders) return { names, unreadable, isComplete: false };
      if (visited % FOLDERS_AT_ONCE === 0) await loopTurn();
      let gitParts = 0;
      for (const entry of entriesOf(folder, () => unreadable.push(folder))) {
        if (GIT_PARTS.has(entry.name)) gitParts++;
        if (seen++ >= bounds.entries) return { names, unreadable, isComplete: false };
        if (seen % ENTRIES_AT_ONCE === 0) await loopTurn();
        const file = path.join(folder, entry.name);
        if (besides.has(file)) continue;
        if (entry.name === ".git") {
          if (repositories++ >= MOST_REPOSITORIES) return { names, unreadable, isComplete: false };
          await loopTurn();
        }
        const found = newNames(guardedAt(file, entry, root));
        if (names.length + found.length > MOST_FOUND) return { names, unreadable, isComplete: false };
        names.push(...found);
        if (entry.isDirectory() && !isProtectedName(entry.name) && !NAMES.has(entry.name) && !SKIPPED.has(entry.name)) next.push(file);
      }
      if (gitParts === GIT_PARTS.size && folder !== root)
        names.push(...newNames(RUN_BY_GIT.map((name) => path.join(folder, name)).filter(isRealThing)));
    }
    folders = next;
  }
  return { names, unreadable, isComplete: true };
}

/** Whether a file is, or lies in, something that other programs execute: for files that a search did not reach. */
export function guardedPart(root: string, file: string): string | undefined {
  const steps = path.relative(root, file).split(path.sep);
  const at = steps.findIndex(
    (step, index) => NAMES.has(step) || isProtectedName(step) || (DEEPER_NAMES[steps[index - 1] ?? ""]?.includes(step) ?? false),
  );
  return at < 0 ? undefined : path.join(root, ...steps.slice(0, at + 1));
}

/**
 * The name of the part of a path below `root` that other programs execute. A thread in it, or a folder opened to commands there, would not
 * find that name below itself.
 */
export function executedPart(root: string, folder: string): string | undefined {
  const steps = path.relative(root, folder).split(path.sep);
  const [last = ""] = steps.slice(-1);
  const special = steps.find((step) => NAMES.has(step) || isProtectedName(step)) ?? (DEEPER_NAMES[last] && last);
  return special ?? steps.find((_, at) => isGitFolder(path.join(root, ...steps.slice(0, at + 1))));
}

function isGitFolder(folder: string): boolean {
  return [...GIT_PARTS].every((name) => isRealThing(path.join(folder, name)));
}

function guardedAt(file: string, entry: Dirent, root: string): string[] {
  if (isProtectedName(entry.name)) {
    // At the root these names are protected whether they exist or not.
    if (path.dirname(file) === root) return [];
    if (entry.name !== ".git") return isPlaceholder(file, entry) ? [] : behind(file, entry, root);
    const folder = path.dirname(file);
    return [...behind(file, entry, root), ...(entry.isFile() ? foldersNamedBy(file, root) : []), ...runByGit(folder, root)];
  }
  if (NAMES.has(entry.name)) return behind(file, entry, root);
  if (!entry.isDirectory()) return [];
  return (DEEPER_NAMES[entry.name] ?? []).map((name) => path.join(file, name)).filter(isRealThing);
}

function isProtectedName(name: string): boolean {
  return PROTECTED_NAMES.some((known) => known === name);
}

/** Whether a folder may be a placeholder for the commands of another thread. */
function isPlaceholder(file: string, entry: Dirent): boolean {
  return entry.isDirectory() && firstNamesIn(file, 1).length === 0;
}

/** The entry itself. For a link, its target, if that lies below the root and does not contain the link. */
function behind(file: string, entry: Dirent, root: string): string[] {
  if (!entry.isSymbolicLink()) return [file];
  const target = resolvedAsFarAsPossible(file);
  return isBelow(target, root) && !isInside(file, target) && isRealThing(target) ? [target] : [];
}

/** The git folders that a `.git` file names, if they are elsewhere below the root. The author of the file could name any folder there. */
function foldersNamedBy(dotGit: string, root: string): string[] {
  const folders = gitFoldersBehind(dotGit).filter((folder) => isBelow(folder, root) && isRealThing(path.join(folder, "HEAD")));
  return folders.filter((folder) => !folders.some((other) => isBelow(folder, other)));
}

function isRealThing(file: string): boolean {
  try {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    return stat !== undefined && !stat.isSymbolicLink();
  } catch {
    // A folder on the path is a file now, or is unreadable.
    return false;
  }
}

/** One by one: a folder may have hundreds of thousands of entries. Without waiting: each wait costs more than the reading of a usual folder. */
function* entriesOf(folder: string, refused: () => void): Generator<Dirent> {
  let open: Dir;
  try {
    open = opendirSync(folder);
  } catch (error) {
    if (errorCode(error) === "EACCES" && isOwn(folder)) refused();
    // No longer a folder, or unreadable.
    return;
  }
  try {
    for (let entry = open.readSync(); entry; entry = open.readSync()) yield entry;
  } catch {
    // It vanished, or the disk failed; the entries read so far are all that is available.
  } finally {
    open.closeSync();
  }
}

/** Only its owner can change the permissions of a folder. */
function isOwn(folder: string): boolean {
  try {
    return lstatSync(folder).uid === process.getuid?.();
  } catch {
    return false;
  }
}

/** The most projects that are cached; after eviction the next search counts as the first again. */
const MOST_PROJECTS = 100;

/**
 * Finds guarded names and caches those of each project: a command that creates thousands of folders can keep later searches from reaching
 * the names behind them, and must not remove their protection that way.
 */
export class GuardedNameSearch {
  readonly #byProject = new Map<string, readonly string[]>();

  /**
   * The guarded names that exist now, except those in `besides`. The search is always short in `further` folders, which commands may write
   * too. Never rejects.
   */
  async find(root: string, besides: NameSet = new Set(), further: readonly string[] = []): Promise<GuardedNames> {
    const found = await this.#findIn(root, { besides, first: FIRST });
    const all = [found];
    for (const folder of further) all.push(await this.#findIn(folder, { besides, first: USUAL }));
    const distinct = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())].slice(0, MOST_FOUND);
    return {
      names: distinct(all.map(({ names }) => names)),
      unreadable: distinct(all.map(({ unreadable }) => unreadable)),
      isComplete: found.isComplete,
    };
  }

  async #findIn(root: string, { besides, first }: { readonly besides: NameSet; readonly first: SearchBounds }): Promise<GuardedNames> {
    const remembered = this.#byProject.get(root);
    const known = (remembered ?? []).filter(isRealThing);
    const found = await findGuardedNames(root, { bounds: remembered ? USUAL : first, known, besides });
    this.#byProject.delete(root);
    this.#byProject.set(root, [...new Set([...known, ...found.names])].slice(0, MOST_FOUND));
    for (const oldest of this.#byProject.keys()) if (this.#byProject.size > MOST_PROJECTS) this.#byProject.delete(oldest);
    return found;
  }
}

/** More than realistic use creates; the oldest are evicted, and protected from then on. */
const MOST_REMEMBERED = 1_000;

/** Guarded names that turns of this server created themselves: they stay usable to its turns, as long as they are the same files. */
export class NamesMadeHere {
  readonly #identities = new Map<string, string>();

  add(name: string): void {
    const identity = identityOf(name);
    if (identity === undefined) return;
    this.#identities.set(name, identity);
    for (const oldest of this.#identities.keys()) if (this.#identities.size > MOST_REMEMBERED) this.#identities.delete(oldest);
  }

  has(name: string): boolean {
    const identity = this.#identities.get(name);
    return identity !== undefined && identityOf(name) === identity;
  }
}

/** The number of a removed file soon belongs to another one. */
function identityOf(file: string): string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`;
}

/** The kernel's file timestamps lag behind our clock by at most this much. */
const CLOCK_LAG_MS = 10;

/** Whether a file was created since that time; false where the file system does not say. Moving a file does not change it. */
export function isBornSince(file: string, sinceMs: number): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && stat.birthtimeMs >= sinceMs - CLOCK_LAG_MS;
}
