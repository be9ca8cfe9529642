import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";

export interface OutsideSearch {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly writable: WritablePlaces;
}

/** The variables that helper programs need. Others, such as `LD_PRELOAD` or `NODE_OPTIONS`, could make them run foreign code. */
const HELPER_VARIABLES = ["HOME", "LANG", "LC_ALL", "TZ"];

/**
 * Finds programs by name that run outside the sandbox. Entries of PATH that a sandboxed command could have written are skipped: package
 * runners put the workspace's `node_modules/.bin` first.
 */
export class OutsidePrograms {
  readonly #search: OutsideSearch;

  constructor(search: OutsideSearch) {
    this.#search = search;
  }

  /** The first program of that name that no command can have written; undefined if there is none. */
  find(name: string): string | undefined {
    return this.#on(this.#folders(), name).find((file) => this.trusts(file));
  }

  /** All such programs, the best first. */
  all(name: string): string[] {
    return this.#on(this.#folders(), name).filter((file) => this.trusts(file));
  }

  /** Programs of that name on PATH that are skipped, to tell the user why. */
  distrusted(name: string): string[] {
    return this.#on(foldersOf(this.#search.env["PATH"]), name).filter((file) => !this.trusts(file));
  }

  /** Whether no command can have written the file or its link target. */
  trusts(file: string): boolean {
    return this.#trustsFolder(path.dirname(file)) && !this.#isWritable(realPathOf(file));
  }

  /** The PATH for programs outside the sandbox. */
  get searchPath(): string {
    return this.#folders().join(path.delimiter);
  }

  /** The minimal environment for a helper program. */
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

/** A project's own programs are chosen by everyone who may write the project. */
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

/** Everyone can write these folders, whatever a thread's policy says. */
export const SHARED_FOLDERS = ["/tmp", "/var/tmp", "/dev/shm"] as const;

/**
 * All folders that sandboxed commands of any turn, current or past, may write. Nothing in them may decide what runs outside the sandbox.
 * Folders are never removed: files of an earlier turn remain.
 */
export class WritablePlaces {
  readonly #folders = new Set<string>();

  constructor(folders: readonly string[]) {
    for (const folder of folders) this.open(folder);
  }

  /** Adds the folder by its name and by its real path. */
  open(folder: string): void {
    const named = path.resolve(folder);
    for (const place of [named, resolvedAsFarAsPossible(named)]) if (!this.covers(place)) this.#folders.add(place);
  }

  covers(file: string): boolean {
    for (const folder of this.#folders) if (isInside(file, folder)) return true;
    return false;
  }
}

export interface SearchedBy {
  /** The command's own PATH, unchanged. */
  readonly searchPath: string;
  /** Relative entries in it start here. */
  readonly cwd: string;
  /** The thread's folder: its author could have put programs there. */
  readonly workspace: string;
}

/**
 * Whether this name leads the command to a program that no one can have planted. Only the first match on the command's search path counts.
 */
export function leadsToTrusted(
  name: string,
  { searchPath, cwd, workspace }: SearchedBy,
  outside: Pick<OutsidePrograms, "trusts">,
): boolean {
  const folders = searchPath.split(path.delimiter).map((folder) => path.resolve(cwd, folder));
  const found = folders.map((folder) => path.join(folder, name)).find(isExecutableFile);
  if (found === undefined || !outside.trusts(found)) return false;
  const realWorkspace = resolvedAsFarAsPossible(workspace);
  return !isInside(found, realWorkspace) && !isInside(resolvedAsFarAsPossible(found), realWorkspace);
}

/** Folders of the operating system. The sandbox keeps them read-only even inside a writable root, so their content can be trusted. */
export const SYSTEM_FOLDERS = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
  "/run/current-system/sw/bin",
] as const;

/** A program of the operating system, independent of PATH: PATH may begin with a folder that commands can write. */
export function systemProgram(name: string): string | undefined {
  return SYSTEM_FOLDERS.map((folder) => path.join(folder, name)).find(isExecutableFile);
}

export function isExecutableFile(file: string): boolean {
  // Most folders of PATH lack the program, and a failed access would construct an error.
  if (!existsSync(file)) return false;
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
