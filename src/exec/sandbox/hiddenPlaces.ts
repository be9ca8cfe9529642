import { homedir, userInfo } from "node:os";
import path from "node:path";
import { isBelow, isInside, isThere, resolvedAsFarAsPossible } from "../../platform/paths.js";

/** A folder that commands must not read, by its real path; what is made in it later is hidden as well. */
export interface HiddenPlace {
  readonly folder: string;
  /** Only these entries are secret; the folder has others that programs need. Absent: all of it. */
  readonly names?: readonly string[];
  /** No thread works in there, but for folders below these entries. Absent: a thread's own folder shows through. */
  readonly sealedBut?: readonly string[];
}

/** The place that keeps a folder from being anybody's workspace. */
export function sealAround(hidden: readonly HiddenPlace[], folder: string): HiddenPlace | undefined {
  return hidden.find(
    (place) =>
      place.sealedBut !== undefined &&
      isInside(folder, place.folder) &&
      !place.sealedBut.some((name) => isBelow(folder, path.join(place.folder, name))),
  );
}

/** What files look like to one command: the machine's own tree, less what is hidden, plus what shows through. */
export interface VisibleFiles {
  readonly hidden: readonly HiddenPlace[];
  /** Folders that are seen although they lie in a hidden one. */
  readonly shown: readonly string[];
}

/** What the kernel makes up: it may never end, wait for ever, or tell about the process that reads it, which is ours. */
const NOT_ON_DISK = ["/proc", "/sys", "/dev"];

/** Whether something may be read, by its real path, for whoever sees these files: the innermost folder decides. */
export function isVisible({ hidden, shown }: VisibleFiles, realPath: string): boolean {
  if (NOT_ON_DISK.some((folder) => isInside(realPath, folder))) return false;
  const hiding = depthAround(realPath, hidden.flatMap(secretsOf));
  return hiding < 0 || depthAround(realPath, shown) > hiding;
}

function secretsOf({ folder, names }: HiddenPlace): string[] {
  return names === undefined ? [folder] : names.map((name) => path.join(folder, name));
}

/** Those that are not inside another one, unless something in between shows through. */
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
 * How a file with secrets is hidden: with the folder around it, because a mask on the file alone is lost when somebody replaces
 * the file. The folder is the one that the name is in and, where that is a link, the one that it leads to.
 */
export function secretPlaces(file: string, env: Readonly<Record<string, string | undefined>>): HiddenPlace[] {
  const named = path.join(resolvedAsFarAsPossible(path.dirname(file)), path.basename(file));
  const places = [named, resolvedAsFarAsPossible(named)].map((place) => placeOf(place, env));
  return places.filter(({ folder }, at) => places.findIndex((other) => other.folder === folder) === at);
}

/** Where programs live, or people: only the file itself is left out of such a folder. */
function placeOf(file: string, env: Readonly<Record<string, string | undefined>>): HiddenPlace {
  const folder = path.dirname(file);
  const onPath = (env["PATH"] ?? "").split(path.delimiter).filter((place) => path.isAbsolute(place));
  const needed = [env["HOME"], homedir(), process.execPath, ...onPath].filter((place): place is string => place !== undefined);
  const isCommon = path.dirname(folder) === "/" || needed.some((place) => isInside(resolvedAsFarAsPossible(place), folder));
  return isCommon ? { folder, names: [path.basename(file)] } : { folder };
}

/** What a caller over the network sees differently. */
export interface CallerView {
  /** What is hidden from this caller beside what is hidden from all. */
  readonly hidden: readonly HiddenPlace[];
  /** What shows through: the caller's folders, and what programs need. */
  readonly shown: readonly string[];
  /** The folder that is /tmp for the thread, by its real path; made when a command first needs it. */
  readonly tmp: () => string;
}

export interface CallerFolders {
  /** Real paths of the caller's own folders and of what the server lets everybody read. */
  readonly folders: readonly string[];
  /** Real paths of the folders of other callers. */
  readonly foreign: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tmp: CallerView["tmp"];
}

/** Folders that everybody on the machine leaves files in. */
const SHARED = ["/tmp", "/var/tmp"];

/** How a caller over the network sees the machine: without the home folder of the server's user, other callers' folders and shared temporary files. */
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
  // `homedir` is $HOME again where that is set; the user has another one in the system's table.
  const named = [env["HOME"], homedir(), userInfo().homedir].filter((home): home is string => home !== undefined && path.isAbsolute(home));
  return [...new Set(named.map(resolvedAsFarAsPossible))].filter((home) => home !== "/");
}

/**
 * Where tools keep what their programs need, by the folder on PATH that shows they are used. Credentials lie beside some of
 * them (`.cargo/credentials.toml`), so that only these parts are shown.
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
