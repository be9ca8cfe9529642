import { lstatSync } from "node:fs";
import path from "node:path";
import { setImmediate as loopTurn } from "node:timers/promises";
import { findCheckout } from "../../lib/files/gitFiles.js";
import { firstNamesIn, isBelow, isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { sightOf } from "./closedFolders.js";
import { type FolderEntry, listing } from "./folderEntries.js";
import { gitFoldersBehind, PROTECTED_NAMES } from "./policy.js";
import { runByGit } from "./runByGit.js";

/** Names in a project from which other programs learn what to run: editors, agents, shells, direnv. */
const NAMES = new Set([
  ".mcp.json",
  ".vscode",
  ".idea",
  ".envrc",
  ".devcontainer",
  ".devcontainer.json",
  "opencode.json",
  "opencode.jsonc",
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
  ".cursor": ["mcp.json", "hooks.json"],
  ".gemini": ["settings.json"],
  ".qwen": ["settings.json"],
  ".opencode": ["opencode.json", "opencode.jsonc", "plugin", "plugins", "tool", "tools"],
  ".kiro": ["settings"],
  ".roo": ["mcp.json"],
  ".kilocode": ["mcp.json"],
  ".amazonq": ["mcp.json"],
  ".zed": ["settings.json", "tasks.json"],
};
/** A folder with all of these is a git folder, such as a bare repository. Commands may push to it. */
const GIT_PARTS = new Set(["HEAD", "objects", "refs"]);
const RUN_BY_GIT = ["config", "hooks"];
/** Large, full of third-party content, and not opened as a project. */
const SKIPPED = new Set(["node_modules"]);

export interface SearchBounds {
  readonly folders: number;
  readonly entries: number;
  readonly depth: number;
}

/** A search takes a few milliseconds at most, however large the project. */
export const USUAL: SearchBounds = { folders: 1_500, entries: 30_000, depth: 8 };
/** The first search in a project may take longer: its result is cached. */
export const FIRST: SearchBounds = { folders: 20_000, entries: 400_000, depth: 24 };
/** After this many folders or entries, a search lets other work of the event loop run. */
const FOLDERS_AT_ONCE = 50;
const ENTRIES_AT_ONCE = 1_000;
/** The limit of guarded names. */
export const MOST_FOUND = 256;
/** The settings of each are read, with the files that they include. */
const MOST_REPOSITORIES = 256;

export type NameSet = Pick<ReadonlySet<string>, "has">;

export interface GuardedNames {
  /** Real paths, outermost first. */
  readonly names: readonly string[];
  /**
   * Folders that are closed to the search, those around remembered names first. A command may have taken the permission, and the next one
   * could restore it.
   */
  readonly closed: readonly string[];
  /** False: the project was too large for a complete search, or has more names than can be protected. */
  readonly isComplete: boolean;
}

/**
 * The guarded names that exist below a folder, except those in `besides`. For a link, its target counts: nothing can be mounted over the
 * link itself. In inner repositories all of `.git` counts, as at the root: a file in it can name other folders for hooks and settings, which count
 * as well.
 */
export async function findGuardedNames(
  root: string,
  { bounds, known, besides }: { readonly bounds: SearchBounds; readonly known: readonly string[]; readonly besides: NameSet },
): Promise<GuardedNames> {
  const names = [...known];
  const closed: string[] = [];
  let isComplete = true;
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
      if (depth === bounds.depth || visited++ >= bounds.folders) return { names, closed, isComplete: false };
      if (visited % FOLDERS_AT_ONCE === 0) await loopTurn();
      let gitParts = 0;
      const { entries, refusal } = listing(folder);
      if (refusal === "closed") closed.push(folder);
      if (refusal === "failed") isComplete = false;
      for (const entry of entries) {
        if (seen++ >= bounds.entries) return { names, closed, isComplete: false };
        if (seen % ENTRIES_AT_ONCE === 0) await loopTurn();
        if (!entry) continue;
        if (GIT_PARTS.has(entry.name)) gitParts++;
        const file = path.join(folder, entry.name);
        if (besides.has(file)) continue;
        if (entry.name === ".git") {
          if (repositories++ >= MOST_REPOSITORIES) return { names, closed, isComplete: false };
          await loopTurn();
        }
        const found = newNames(guardedAt(file, entry, root));
        if (names.length + found.length > MOST_FOUND) return { names, closed, isComplete: false };
        names.push(...found);
        if (entry.isDirectory() && !isProtectedName(entry.name) && !NAMES.has(entry.name) && !SKIPPED.has(entry.name)) next.push(file);
      }
      if (gitParts === GIT_PARTS.size && folder !== root)
        names.push(...newNames(RUN_BY_GIT.map((name) => path.join(folder, name)).filter(isRealThing)));
    }
    folders = next;
  }
  return { names, closed, isComplete };
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
  const found = special ?? steps.find((_, at) => isGitFolder(path.join(root, ...steps.slice(0, at + 1))));
  return found === "" ? path.basename(root) : found;
}

function isGitFolder(folder: string): boolean {
  return [...GIT_PARTS].every((name) => isRealThing(path.join(folder, name)));
}

function guardedAt(file: string, entry: FolderEntry, root: string): string[] {
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
function isPlaceholder(file: string, entry: FolderEntry): boolean {
  return entry.isDirectory() && firstNamesIn(file, 1).length === 0;
}

/** The entry itself. For a link, its target, if that lies below the root and does not contain the link. */
function behind(file: string, entry: FolderEntry, root: string): string[] {
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
  return sightOf(file) === "real";
}

/** The kernel's file timestamps lag behind our clock by at most this much. */
const CLOCK_LAG_MS = 10;

/** Whether a file was created since that time; false where the file system does not say. Moving a file does not change it. */
export function isBornSince(file: string, sinceMs: number): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && stat.birthtimeMs >= sinceMs - CLOCK_LAG_MS;
}
