import { realpathSync } from "node:fs";
import path from "node:path";
import { isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { isExecutableFile, SYSTEM_FOLDERS } from "./systemPrograms.js";

export interface OutsideSearch {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly writable: WritablePlaces;
}

/** What helper programs need to find their way. Anything else, `LD_PRELOAD` or `NODE_OPTIONS` for one, could make them run something. */
const HELPER_VARIABLES = ["HOME", "LANG", "LC_ALL", "TZ"];

/**
 * Finds programs by name that run outside the sandbox. PATH is searched without what a sandboxed command could have put there:
 * package runners begin it with the workspace's `node_modules/.bin`.
 */
export class OutsidePrograms {
  readonly #search: OutsideSearch;

  constructor(search: OutsideSearch) {
    this.#search = search;
  }

  /** The first program of that name that no command can have written; undefined where there is none. */
  find(name: string): string | undefined {
    return this.#on(this.#folders(), name).find((file) => this.trusts(file));
  }

  /** All of them, the best first. */
  all(name: string): string[] {
    return this.#on(this.#folders(), name).filter((file) => this.trusts(file));
  }

  /** Programs of that name on PATH that are passed over, for telling the user why. */
  distrusted(name: string): string[] {
    return this.#on(foldersOf(this.#search.env["PATH"]), name).filter((file) => !this.trusts(file));
  }

  /** Whether neither the file nor what it leads to can have been written by a command. */
  trusts(file: string): boolean {
    return this.#trustsFolder(path.dirname(file)) && !this.#isWritable(realPathOf(file));
  }

  /** PATH for what runs outside the sandbox. */
  get searchPath(): string {
    return this.#folders().join(path.delimiter);
  }

  /** As little as a helper program can do with. */
  environment(): Record<string, string> {
    const passed = HELPER_VARIABLES.flatMap((name) => {
      const value = this.#search.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...Object.fromEntries(passed), PATH: this.searchPath };
  }

  #folders(): string[] {
    return foldersOf(this.#search.env["PATH"]).filter((folder) => this.#trustsFolder(folder));
  }

  #on(folders: readonly string[], name: string): string[] {
    const wanted = process.platform === "win32" && path.extname(name) === "" ? `${name}.exe` : name;
    return folders.map((folder) => path.join(folder, wanted)).filter(isExecutableFile);
  }

  #trustsFolder(folder: string): boolean {
    if (isSystemFolder(folder)) return true;
    return !isPackageBin(folder) && !this.#isWritable(folder) && !this.#isWritable(realPathOf(folder));
  }

  #isWritable(place: string): boolean {
    return !isSystemFolder(path.dirname(place)) && !isSystemFolder(place) && this.#search.writable.covers(place);
  }
}

function foldersOf(searchPath: string | undefined): string[] {
  const folders = (searchPath ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return [...new Set(folders.map((folder) => path.normalize(folder).replace(/(?<=.)\/+$/, "")))];
}

function isSystemFolder(folder: string): boolean {
  return SYSTEM_FOLDERS.some((known) => known === folder);
}

/** A project's own programs, which whoever may write the project chooses. */
function isPackageBin(folder: string): boolean {
  return folder.endsWith(`${path.sep}node_modules${path.sep}.bin`);
}

function realPathOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}

/** Everybody may write these, whatever a thread's policy says. */
export const SHARED_FOLDERS = ["/tmp", "/var/tmp", "/dev/shm"] as const;

/**
 * Where sandboxed commands of any turn may write, now or in a turn before. Nothing in here may decide what runs outside the sandbox.
 * Places are only ever added: what an earlier turn has left behind stays.
 */
export class WritablePlaces {
  readonly #folders = new Set<string>();

  constructor(folders: readonly string[]) {
    for (const folder of folders) this.open(folder);
  }

  /** By its name and by where it leads. */
  open(folder: string): void {
    const named = path.resolve(folder);
    this.#folders.add(named);
    this.#folders.add(resolvedAsFarAsPossible(named));
  }

  covers(file: string): boolean {
    for (const folder of this.#folders) if (isInside(file, folder)) return true;
    return false;
  }
}

export interface SearchedBy {
  /** The PATH of the command, as it is. */
  readonly searchPath: string;
  /** What is relative in it counts from here. */
  readonly cwd: string;
  /** The thread's folder: whoever made it could have put programs there. */
  readonly workspace: string;
}

/** Whether the program that a command would get by this name is one that nobody can have planted: the first on its own search path, whatever comes later. */
export function leadsToTrusted(
  name: string,
  { searchPath, cwd, workspace }: SearchedBy,
  outside: Pick<OutsidePrograms, "trusts">,
): boolean {
  const folders = searchPath.split(path.delimiter).map((folder) => path.resolve(cwd, folder));
  const found = folders.map((folder) => path.join(folder, name)).find(isExecutableFile);
  if (found === undefined || !outside.trusts(found)) return false;
  return ![found, resolvedAsFarAsPossible(found)].some((file) => isInside(file, resolvedAsFarAsPossible(workspace)));
}
