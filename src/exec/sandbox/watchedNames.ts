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

/** A command that puts it back again and again is not doing it by accident. */
const MOST_MOVES = 3;

/**
 * A protected name that nothing is mounted over. What appears there while a command runs is moved aside at once: git and editors must
 * not find it, and it is not ours to delete. Whoever makes it from outside meanwhile finds it aside as well; nobody can tell who made it.
 */
export class WatchedName {
  readonly #place: NamedPlace;
  readonly #known: string | undefined;
  readonly #watcher: FSWatcher | undefined;
  readonly #moved: string[] = [];
  #failure: string | undefined;
  #stop: ((why: string) => void) | undefined;

  /** `known`: the identity of what may be there, because it was there before. */
  constructor({ folder, name }: NamedPlace, known?: string) {
    this.#place = { folder: openSync(`/proc/self/fd/${folder}`, O_PATH), name };
    this.#known = known;
    this.#watcher = this.#begin();
  }

  /** `stop` ends the command. */
  supervise(stop: (why: string) => void): void {
    this.#stop = stop;
  }

  /** Ends the watch when nothing of the command lives any more. Returns what the user should know. */
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

  /** Ends the watch without a last look. */
  cancel(): void {
    this.#watcher?.close();
    closeSync(this.#place.folder);
  }

  #begin(): FSWatcher | undefined {
    try {
      const options = { persistent: false };
      const watcher = watch(`/proc/self/fd/${this.#place.folder}`, options, (_, name) => {
        if (name === this.#place.name) this.#look();
      });
      watcher.on("error", () => {});
      return watcher;
    } catch {
      // The system has no more watches to give; the last look remains.
      return undefined;
    }
  }

  /** Called by the system's watch too, so it must not throw. */
  #look(): void {
    const { name } = this.#place;
    try {
      const moved = setAside(this.#place, this.#known);
      if (moved === undefined) return;
      this.#moved.push(moved);
      if (this.#moved.length === MOST_MOVES) this.#stop?.(`it made ${name} again and again, which is protected`);
    } catch (error) {
      this.#failure = `${name} is protected, and what was made there could not be moved away (${describe(error)}): look at it before you use git or an editor in that folder.`;
      this.#stop?.(`it kept ${name}, which is protected, from being looked after`);
    }
  }
}

/**
 * Moves away what is at a protected name and was not there before; returns where it is now. Where something was there before, an empty folder may be
 * the placeholder of another server.
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

/** A command owns its workspace, and can take the rights on it from itself and from us; they are given back then. */
function withRights<T>(folder: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!["EACCES", "EPERM"].includes(errorCode(error) ?? "")) throw error;
    chmodSync(`/proc/self/fd/${folder}`, (fstatSync(folder).mode & 0o777) | constants.S_IRWXU);
    return work();
  }
}

/** Whether a folder lies in a repository: a `.git` of ours in it would hide that one from programs that go by the name alone. */
export function isInRepository(folder: string): boolean {
  const dotGit = path.join(folder, ".git");
  if (isThere(path.join(dotGit, "HEAD")) || isFile(dotGit)) return true;
  const parent = path.dirname(folder);
  return parent !== folder && isInRepository(parent);
}

function isFile(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A folder on the way that may not be looked into.
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
