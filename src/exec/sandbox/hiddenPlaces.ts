// Long because hidden and guarded places form one policy, together with the search for the latter.
import { type Dir, type Dirent, lstatSync, opendirSync } from "node:fs";
import path from "node:path";
import { setImmediate as loopTurn } from "node:timers/promises";
import { findCheckout } from "../../lib/files/gitFiles.js";
import { userHomes } from "../../platform/homes.js";
import { firstNamesIn, isBelow, isInside, isThere, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { gitFoldersBehind, PROTECTED_NAMES } from "./policy.js";
import { runByGit } from "./runByGit.js";

/** A folder that commands must not read, by its real path; entries created later are hidden as well. */
export interface HiddenPlace {
  readonly folder: string;
  /** Only these entries are secret; programs need the others. Absent: the whole folder is hidden. */
  readonly names?: readonly string[];
  /** No thread may work in the folder, except below these entries. Absent: a thread's own folder stays visible in it. */
  readonly sealedBut?: readonly string[];
}

/** The hidden place that prevents a folder from being a workspace. */
export function sealAround(hidden: readonly HiddenPlace[], folder: string): HiddenPlace | undefined {
  return hidden.find(
    (place) =>
      place.sealedBut !== undefined &&
      isInside(folder, place.folder) &&
      !place.sealedBut.some((name) => isBelow(folder, path.join(place.folder, name))),
  );
}

/** The files that one command sees: the machine's own tree without the hidden places, plus the shown ones. */
export interface VisibleFiles {
  readonly hidden: readonly HiddenPlace[];
  /** Folders that stay visible although they lie in a hidden one. */
  readonly shown: readonly string[];
}

/** The kernel generates these files: reading one may never end, block for ever, or reveal data of the reading process, which is ours. */
const NOT_ON_DISK = ["/proc", "/sys", "/dev"];

/** Whether a real path may be read in this view: the innermost hidden or shown folder decides. */
export function isVisible({ hidden, shown }: VisibleFiles, realPath: string): boolean {
  if (NOT_ON_DISK.some((folder) => isInside(realPath, folder))) return false;
  const hiding = depthAround(realPath, hidden.flatMap(secretsOf));
  return hiding < 0 || depthAround(realPath, shown) > hiding;
}

function secretsOf({ folder, names }: HiddenPlace): string[] {
  return names === undefined ? [folder] : names.map((name) => path.join(folder, name));
}

/** The hidden places that are not inside another one, unless a shown folder lies in between. */
export function outermostHidden({ hidden, shown }: VisibleFiles): HiddenPlace[] {
  const isCoveredBy = (place: HiddenPlace, other: HiddenPlace) => {
    if (place === other || other.names !== undefined) return false;
    if (place.folder === other.folder) return place.names !== undefined || hidden.indexOf(other) < hidden.indexOf(place);
    return isBelow(place.folder, other.folder) && !shown.some((seen) => isBelow(seen, other.folder) && isInside(place.folder, seen));
  };
  return hidden.filter((place) => !hidden.some((other) => isCoveredBy(place, other)));
}

function depthAround(realPath: string, folders: readonly string[]): number {
  return Math.max(-1, ...folders.filter((folder) => isInside(realPath, folder)).map(({ length }) => length));
}

/**
 * Hides a file with secrets together with its folder, because a mask on the file alone is lost when the file is replaced. Applies to the
 * folder of the name and, for a link, to the folder of its target.
 */
export function secretPlaces(file: string, env: Readonly<Record<string, string | undefined>>): HiddenPlace[] {
  const named = path.join(resolvedAsFarAsPossible(path.dirname(file)), path.basename(file));
  const places = [named, resolvedAsFarAsPossible(named)].map((place) => placeOf(place, env));
  return places.filter(({ folder }, at) => places.findIndex((other) => other.folder === folder) === at);
}

/** In folders with programs or home folders, only the file itself is hidden. */
function placeOf(file: string, env: Readonly<Record<string, string | undefined>>): HiddenPlace {
  const folder = path.dirname(file);
  const onPath = (env["PATH"] ?? "").split(path.delimiter).filter((place) => path.isAbsolute(place));
  const needed = [...userHomes(env), process.execPath, ...onPath];
  const isCommon = path.dirname(folder) === "/" || needed.some((place) => isInside(resolvedAsFarAsPossible(place), folder));
  return isCommon ? { folder, names: [path.basename(file)] } : { folder };
}

/** How the view of a network caller differs. */
export interface CallerView {
  /** Hidden from this caller, in addition to what is hidden from all. */
  readonly hidden: readonly HiddenPlace[];
  /** What stays visible: the caller's folders, and what programs need. */
  readonly shown: readonly string[];
  /** The real path of the folder that is the thread's /tmp; created when a command first needs it. */
  readonly tmp: () => string;
}

export interface CallerFolders {
  /** Real paths of the caller's own folders and of the server's read roots. */
  readonly folders: readonly string[];
  /** Real paths of other callers' folders. */
  readonly foreign: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tmp: CallerView["tmp"];
}

/** Temporary folders shared by everyone on the machine. */
const SHARED = ["/tmp", "/var/tmp"];

/** The view of a network caller: without the home folder of the server's user, other callers' folders and shared temporary files. */
export function callerView({ folders, foreign, env, tmp }: CallerFolders): CallerView {
  const homes = homesOf(env).filter((home) => !folders.some((folder) => isInside(home, folder)));
  const others = foreign.filter((folder) => !folders.includes(folder));
  const hidden: HiddenPlace[] = [...homes, ...SHARED, ...others]
    .filter((folder) => !folders.includes(folder))
    .map((folder) => ({ folder }));
  const shown = homes.flatMap((home) => neededIn(home, env));
  return { hidden, shown: [...folders, ...shown], tmp };
}

function homesOf(env: CallerFolders["env"]): string[] {
  return [...new Set(userHomes(env).map(resolvedAsFarAsPossible))].filter((home) => home !== "/");
}

/**
 * The folders that a toolchain's programs need, by the folder on PATH that shows the toolchain is used. Credentials lie beside some of them
 * (`.cargo/credentials.toml`), so only these parts are shown.
 */
const TOOLCHAINS: Readonly<Record<string, readonly string[]>> = {
  ".nvm": [".nvm/versions"],
  ".fnm": [".fnm"],
  ".local/share/fnm": [".local/share/fnm"],
  ".volta": [".volta"],
  ".nodenv": [".nodenv"],
  ".npm-global": [".npm-global"],
  ".bun": [".bun/bin", ".bun/install"],
  ".deno": [".deno"],
  ".local/share/pnpm": [".local/share/pnpm"],
  ".pyenv": [".pyenv"],
  ".local/share/uv": [".local/share/uv"],
  ".local/pipx": [".local/pipx"],
  ".local/bin": [".local/bin", ".local/lib", ".local/share/uv", ".local/pipx/venvs", ".local/share/pipx/venvs"],
  miniconda3: ["miniconda3"],
  anaconda3: ["anaconda3"],
  miniforge3: ["miniforge3"],
  ".cargo": [".cargo/bin", ".cargo/registry", ".rustup"],
  go: ["go/bin", "go/pkg"],
  ".goenv": [".goenv"],
  ".rbenv": [".rbenv"],
  ".rvm": [".rvm"],
  ".sdkman": [".sdkman/candidates"],
  ".jenv": [".jenv"],
  ".asdf": [".asdf"],
  ".local/share/mise": [".local/share/mise"],
  ".ghcup": [".ghcup"],
  ".cabal": [".cabal/bin", ".cabal/lib"],
  ".elan": [".elan"],
  ".juliaup": [".juliaup", ".julia/juliaup"],
  ".dotnet": [".dotnet"],
};
const GIT_CONFIGURATION = [".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"];

function neededIn(home: string, env: CallerFolders["env"]): string[] {
  const onPath = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const used = [...onPath, path.dirname(process.execPath)]
    .map(resolvedAsFarAsPossible)
    .filter((folder) => isInside(folder, home) && folder !== home);
  const toolchains = Object.entries(TOOLCHAINS)
    .filter(([folder]) => used.some((program) => isInside(program, path.join(home, folder))))
    .flatMap(([, parts]) => parts);
  const needed = [...used, ...[...toolchains, ...GIT_CONFIGURATION].map((name) => path.join(home, name))];
  return [...new Set(needed)].filter(isThere).map(resolvedAsFarAsPossible);
}

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
const PASSED_OVER = new Set(["node_modules"]);

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
      if (depth === bounds.depth || visited++ >= bounds.folders) return { names, isComplete: false };
      if (visited % FOLDERS_AT_ONCE === 0) await loopTurn();
      let gitParts = 0;
      for (const entry of entriesOf(folder)) {
        if (GIT_PARTS.has(entry.name)) gitParts++;
        if (seen++ >= bounds.entries) return { names, isComplete: false };
        if (seen % ENTRIES_AT_ONCE === 0) await loopTurn();
        const file = path.join(folder, entry.name);
        if (besides.has(file)) continue;
        if (entry.name === ".git") {
          if (repositories++ >= MOST_REPOSITORIES) return { names, isComplete: false };
          await loopTurn();
        }
        const found = newNames(guardedAt(file, entry, root));
        if (names.length + found.length > MOST_FOUND) return { names, isComplete: false };
        names.push(...found);
        if (entry.isDirectory() && !isProtectedName(entry.name) && !NAMES.has(entry.name) && !PASSED_OVER.has(entry.name)) next.push(file);
      }
      if (gitParts === GIT_PARTS.size && folder !== root)
        names.push(...newNames(RUN_BY_GIT.map((name) => path.join(folder, name)).filter(isRealThing)));
    }
    folders = next;
  }
  return { names, isComplete: true };
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
function* entriesOf(folder: string): Generator<Dirent> {
  let open: Dir;
  try {
    open = opendirSync(folder);
  } catch {
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
    const names = new Set(found.names);
    for (const folder of further) for (const name of (await this.#findIn(folder, { besides, first: USUAL })).names) names.add(name);
    return { names: [...names].slice(0, MOST_FOUND), isComplete: found.isComplete };
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
