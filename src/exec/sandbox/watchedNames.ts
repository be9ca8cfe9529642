import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  type FSWatcher,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  watch,
} from "node:fs";
import path from "node:path";
import { describe, errorCode } from "../../lib/errors.js";
import { isThere, O_PATH } from "../../platform/paths.js";
import { entryPath, identityOf, type NamedPlace } from "./placeholders.js";

/** A command that recreates it repeatedly does so on purpose. */
const MOST_MOVES = 3;

/**
 * A protected name without a mount over it. Anything that appears there while a command runs is moved aside at once: git and editors must
 * not find it, and it is not ours to delete. This also affects files that other programs create there meanwhile, because their author
 * cannot be determined.
 */
export class WatchedName {
  readonly #place: NamedPlace;
  readonly #known: string | undefined;
  readonly #unwatch: () => void;
  readonly #moved: string[] = [];
  #failure: string | undefined;
  #stop: ((why: string) => void) | undefined;

  /** `known`: the identity of the entry that existed before and may stay. */
  constructor({ folder, name }: NamedPlace, known?: string) {
    this.#place = { folder: openSync(`/proc/self/fd/${folder}`, O_PATH), name };
    this.#known = known;
    this.#unwatch = watchFolder(this.#place.folder, (changed) => {
      if (changed === name) this.#look();
    });
  }

  /** `stop` ends the command. */
  supervise(stop: (why: string) => void): void {
    this.#stop = stop;
  }

  /** Ends the watch once no process of the command is left. Returns messages for the user. */
  end(): string[] {
    this.#look();
    this.cancel();
    const { name } = this.#place;
    const notices = this.#moved.map((file) => {
      const what = `${path.join(path.dirname(file), name)} is protected`;
      return removeIfEmpty(file) ? `${what}, and could not be made.` : `${what}. What was made there while the command ran is now ${file}.`;
    });
    return this.#failure === undefined ? notices : [...notices, this.#failure];
  }

  /** Ends the watch without a final check. */
  cancel(): void {
    this.#unwatch();
    closeSync(this.#place.folder);
  }

  /** Also called by the file system watcher, so it must not throw. */
  #look(): void {
    const { name } = this.#place;
    try {
      const moved = setAside(this.#place, this.#known);
      if (moved === undefined) return;
      this.#moved.push(moved);
      if (this.#moved.length === MOST_MOVES) this.#stop?.(`it made ${name} repeatedly, which is protected`);
    } catch (error) {
      this.#failure = `${name} is protected, and what was made there could not be moved away (${describe(error)}): look at it before you use git or an editor in that folder.`;
      this.#stop?.(`it kept ${name}, which is protected, from being watched`);
    }
  }
}

/** Starting a watch takes the kernel milliseconds in a large folder such as `/tmp`, and the next command usually comes soon. */
const LINGER_MS = 5_000;

interface FolderWatch {
  readonly watcher: FSWatcher;
  readonly listeners: Set<(changed: string | null) => void>;
  leaving: NodeJS.Timeout | undefined;
}

const folderWatches = new Map<string, FolderWatch>();

/**
 * Calls the listener with each name in the folder that changes, until the returned function is called. The folder must stay open; its watch
 * is shared.
 */
function watchFolder(folder: number, listener: (changed: string | null) => void): () => void {
  // Inode numbers are reused at once.
  const { dev, ino, birthtimeMs } = fstatSync(folder);
  const key = `${dev}:${ino}:${birthtimeMs}`;
  const shared = folderWatches.get(key) ?? beginWatch(key, folder);
  if (!shared) return () => {};
  clearTimeout(shared.leaving);
  shared.listeners.add(listener);
  return () => {
    shared.listeners.delete(listener);
    if (shared.listeners.size === 0) shared.leaving = setTimeout(() => endWatch(key, shared), LINGER_MS).unref();
  };
}

/** Undefined when the system has no more watches; the final check remains. */
function beginWatch(key: string, folder: number): FolderWatch | undefined {
  const listeners: FolderWatch["listeners"] = new Set();
  try {
    const watcher = watch(`/proc/self/fd/${folder}`, { persistent: false }, (_, name) => {
      for (const listener of listeners) listener(name);
    });
    const begun: FolderWatch = { watcher, listeners, leaving: undefined };
    // A failed watch reports nothing more: the next command starts another.
    watcher.on("error", () => endWatch(key, begun));
    folderWatches.set(key, begun);
    return begun;
  } catch {
    return undefined;
  }
}

function endWatch(key: string, ended: FolderWatch): void {
  clearTimeout(ended.leaving);
  if (folderWatches.get(key) === ended) folderWatches.delete(key);
  ended.watcher.close();
}

/**
 * Moves aside an entry at a protected name that did not exist before; returns its new path. Where an entry existed before, an empty folder
 * may be the placeholder of another server.
 */
export function setAside(place: NamedPlace, known: string | undefined): string | undefined {
  return withRights(place.folder, () => {
    const there = lstatSync(entryPath(place), { throwIfNoEntry: false });
    if (!there || identityOf(place) === known) return undefined;
    if (known !== undefined && there.isDirectory() && isEmpty(entryPath(place))) return undefined;
    const name = `${place.name}.set-aside-${randomBytes(4).toString("hex")}`;
    try {
      renameSync(entryPath(place), entryPath({ ...place, name }));
      return path.join(readlinkSync(`/proc/self/fd/${place.folder}`), name);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  });
}

/** A command owns its workspace and can remove permissions on it, for itself and for us; they are restored then. */
function withRights<T>(folder: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!["EACCES", "EPERM"].includes(errorCode(error) ?? "")) throw error;
    chmodSync(`/proc/self/fd/${folder}`, (fstatSync(folder).mode & 0o777) | constants.S_IRWXU);
    return work();
  }
}

/**
 * Whether a folder lies in a repository: a `.git` placeholder in it would hide that repository from programs that only look for the name.
 */
export function isInRepository(folder: string): boolean {
  const dotGit = path.join(folder, ".git");
  if (isThere(dotGit) && (isThere(path.join(dotGit, "HEAD")) || isFile(dotGit))) return true;
  const parent = path.dirname(folder);
  return parent !== folder && isInRepository(parent);
}

function isFile(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A folder on the path is unreadable.
    return false;
  }
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return false;
  }
}

function removeIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
