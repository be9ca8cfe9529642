import path from "node:path";
import { isBelow, isInside, isThere, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { userHomes } from "../../platform/userAccount.js";

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
