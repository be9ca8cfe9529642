import { homedir, userInfo } from "node:os";
import path from "node:path";
import { isInside, isThere, resolvedAsFarAsPossible } from "../../platform/paths.js";
import type { CallerView } from "./confinement.js";
import type { HiddenPlace } from "./hiddenPlaces.js";

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
