import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync } from "node:fs";
import path from "node:path";
import { AppError, describe, errorCode } from "../../lib/errors.js";
import { pathBytes, shownPath, textOfName } from "../../lib/files/rawNames.js";
import { firstNamesIn, isThere, O_PATH } from "../../platform/paths.js";
import { PlaceMoved, ProgramNotStarted, RootRefused } from "../errors.js";
import type { SandboxPolicy } from "../policies.js";
import { type Confinement, fileView, type Mount, planMounts } from "./fileView.js";
import { entryPath, type HeldPlaceholder, identityOf, type NamedPlace, type Placeholders } from "./placeholders.js";
import { isInRepository, setAside, WatchedName } from "./watchedNames.js";

/** Mounts need existing targets. */
export interface MountedConfinement extends Confinement {
  readonly placeholders: Placeholders;
  /** The code that runs the command calls `Sandbox.tidyUp` after its end. */
  readonly tidiedLater?: boolean | undefined;
  /** The size limit of /dev/shm. Undefined: the system's default, which is half of the memory. */
  readonly sharedMemoryBytes?: number | undefined;
}

/** The file tree that a sandboxed command sees, as flags of bubblewrap. */
export interface OpenTree {
  readonly flags: readonly string[];
  /** The descriptors the flags refer to, numbered from `firstDescriptor`. */
  readonly descriptors: readonly number[];
  /** Called when the program has started. Watches the names that cannot be mounted over; `stop` ends the command. */
  readonly supervise: (stop: (why: string) => void) => void;
  /** Returns messages for the user. */
  readonly release: () => string[];
}

/** Long enough for the commands of a turn, and short enough to go unnoticed in /tmp. */
const LINGER_MS = 5_000;
const SYSTEM_FILES = ["--ro-bind", "/sys", "/sys"];
/** Even without capabilities, root may write sysctls wherever /proc is writable. */
const OWN_PROCESSES = ["--proc", "/proc", "--remount-ro", "/proc"];

/** Everything in /dev is memory: parts without a size limit are read-only. */
function ownDevices(sharedMemoryBytes: number | undefined): string[] {
  const sharedMemory =
    sharedMemoryBytes === undefined
      ? []
      : ["--perms", "1777", "--size", String(sharedMemoryBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"];
  return ["--dev", "/dev", ...sharedMemory];
}

export function openTree(confinement: MountedConfinement, { firstDescriptor }: { firstDescriptor: number }): OpenTree {
  const { placeholders, tidiedLater, caller, policy, sharedMemoryBytes } = confinement;
  const view = fileView(confinement);
  const mounts = planMounts(view).filter(({ path: place, access }) => access === "protected" || exists(place));
  const temporary = new Set(view.roots.filter((root) => root.temporary).map(({ root }) => root));
  const held = new HeldPaths();
  const undo: (() => readonly string[])[] = [];
  const watched: WatchedName[] = [];
  const release = () => {
    const notices = undo.splice(0).flatMap(unlessItThrows);
    held.close();
    return notices;
  };
  const watchInstead = (place: NamedPlace, known?: string) => {
    const watch = new WatchedName(place, known);
    if (identityOf(place) !== known) {
      watch.cancel();
      return false;
    }
    watched.push(watch);
    undo.push(() => watch.end());
    return true;
  };
  const number = (index: number) => String(firstDescriptor + index);
  // By descriptor: a link that another command puts there meanwhile could lead into a hidden folder, and would be mounted over its mask.
  const readOnly = (file: string) => held.openIfReal(file, (index) => ["--ro-bind-fd", number(index), file]);
  const protect = (file: string) => {
    const folder = held.find(path.dirname(file));
    if (folder === undefined) return readOnly(file);
    const place = { folder, name: path.basename(file) };
    // A `.git` folder would hide the surrounding repository from programs that only look for the name.
    if (place.name === ".git" && identityOf(place) === undefined && isInRepository(path.dirname(file)) && watchInstead(place)) return [];
    const leaving = temporary.has(path.dirname(file)) ? { afterMs: LINGER_MS } : tidiedLater ? "whenTidied" : "atOnce";
    const hold = () => placeholders.hold(place, leaving);
    // If nothing is there, another server removed its placeholder at this moment. A watch would take its next one for the command's work.
    const placeholder = hold() ?? (identityOf(place) === undefined ? hold() : undefined);
    if (placeholder) {
      undo.push(() => giveUp(place, placeholder));
      return orMoved(readOnly(file), file);
    }
    const identity = identityOf(place);
    if (identity === undefined) {
      // It cannot be created.
      watchInstead(place);
      return [];
    }
    if (!isEmptyFolder(place)) return orMoved(readOnly(file), file);
    // It may be the placeholder of a server with another CODEX_HOME, which may remove it at any time, even before it is mounted.
    if (!watchInstead(place, identity)) throw new PlaceMoved(file);
    return readOnly(file);
  };
  const flagsOf = (mount: Mount): string[] => {
    switch (mount.access) {
      case "write":
        return ["--bind-fd", number(held.openFolder(mount.path)), mount.path];
      case "protected":
        return protect(mount.path);
      case "shown":
        return readOnly(mount.path);
      case "hidden":
        if (caller && mount.path === "/tmp") return ["--bind-fd", number(held.openFolder(caller.tmp())), "/tmp"];
        return ["--perms", mount.hasMountsBelow ? "0755" : "0000", "--tmpfs", mount.path];
      case "screened":
        return ["--perms", "0755", "--tmpfs", mount.path, ...entriesBesides(mount.without, mount.path)];
    }
  };
  try {
    const everything = view.roots.some(({ root }) => root === "/");
    const special = mounts.flatMap(flagsOf);
    // Mounts below these places must be made first.
    const sealed = mounts
      .filter(({ access }) => access === "hidden" || access === "screened")
      .flatMap(({ path: folder }) => (caller && folder === "/tmp" && opensTmp(policy) ? [] : ["--remount-ro", folder]));
    const system = [...(everything ? SYSTEM_FILES : []), ...ownDevices(sharedMemoryBytes), ...OWN_PROCESSES];
    const flags = ["--ro-bind", "/", "/", ...special, ...sealed, ...system];
    const supervise = (stop: (why: string) => void) => {
      held.handedOver();
      for (const watch of watched) watch.supervise(stop);
    };
    return { flags, descriptors: held.descriptors, supervise, release };
  } catch (error) {
    release();
    throw error instanceof AppError ? error : notPrepared(error);
  }
}

/** Only what moved is worth another try. Anything else, such as a full disk or too many open files, fails again. */
function notPrepared(error: unknown, place?: string): AppError {
  return GONE.has(errorCode(error) ?? "") ? new PlaceMoved(place) : new ProgramNotStarted("the sandbox", describe(error));
}

/** A protected place without a mount would be unprotected. */
function orMoved(flags: string[], file: string): string[] {
  if (flags.length === 0) throw new PlaceMoved(file);
  return flags;
}

/** A failing step must not keep the others from being undone. */
function unlessItThrows(step: () => readonly string[]): readonly string[] {
  try {
    return step();
  } catch (error) {
    return [`A protected place could not be restored: ${describe(error)}.`];
  }
}

/** A removed placeholder no longer protected anything. */
function giveUp(place: NamedPlace, placeholder: HeldPlaceholder): string[] {
  let moved: string | undefined;
  try {
    moved = placeholder.isIntact() ? undefined : setAside(place, placeholder.identity);
  } finally {
    placeholder.giveUp();
  }
  return moved === undefined ? [] : [`${moved} was made at a protected place, which lost its protection while the command ran.`];
}

function isEmptyFolder(place: NamedPlace): boolean {
  const stat = lstatSync(entryPath(place), { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return false;
  // Folders with subfolders, as most repositories are, have more links.
  return stat.nlink <= 2 && firstNamesIn(entryPath(place), 1).length === 0;
}

function opensTmp(policy: SandboxPolicy): boolean {
  return policy.type === "workspace-write" && !policy.exclude_slash_tmp;
}

/** Folders and files held open by descriptor, so that a link swapped in before the mount does not change what is mounted. */
class HeldPaths {
  readonly #descriptors: number[] = [];
  readonly #folders = new Map<string, number>();
  readonly #needed = new Set<number>();

  get descriptors(): readonly number[] {
    return this.#descriptors;
  }

  /** The descriptor of a folder that was opened with `openFolder`. It stays open until `close`. */
  find(folder: string): number | undefined {
    const fd = this.#folders.get(folder);
    if (fd !== undefined) this.#needed.add(fd);
    return fd;
  }

  /** Returns the descriptor's index. */
  openFolder(folder: string): number {
    const fd = openFolder(folder);
    this.#folders.set(folder, fd);
    return this.#hold(fd);
  }

  /** A path that is gone or has become a link needs no mount: nothing relies on it any more. */
  openIfReal(file: string, mount: (index: number) => string[]): string[] {
    const fd = openReal(file);
    return fd === undefined ? [] : mount(this.#hold(fd));
  }

  /** The sandbox program has its descriptors. Of ours, those of folders with protected names are still needed; there may be hundreds of others. */
  handedOver(): void {
    for (const fd of this.#descriptors.splice(0)) if (!this.#needed.has(fd)) closeSync(fd);
    this.#descriptors.push(...this.#needed);
  }

  close(): void {
    for (const fd of this.#descriptors.splice(0)) closeSync(fd);
    this.#folders.clear();
  }

  #hold(fd: number): number {
    return this.#descriptors.push(fd) - 1;
  }
}

/** A place that cannot be examined must not count as missing: a command could make it accessible again. */
function exists(place: string): boolean {
  try {
    return isThere(place);
  } catch (error) {
    throw new RootRefused(
      `The command was not run: ${shownPath(place)} cannot be examined (${describe(error)}). Make it accessible again.`,
    );
  }
}

const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

function openReal(file: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(pathBytes(file), O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    // Only a path that is gone or has become a link needs no mount.
    if (!GONE.has(errorCode(error) ?? "")) throw notPrepared(error, file);
    return undefined;
  }
  if (!fstatSync(fd).isSymbolicLink() && isOpenAs(fd, file)) return fd;
  closeSync(fd);
  return undefined;
}

function openFolder(folder: string): number {
  let fd: number;
  try {
    fd = openSync(pathBytes(folder), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw notPrepared(error, folder);
  }
  if (isOpenAs(fd, folder)) return fd;
  closeSync(fd);
  throw new PlaceMoved(folder);
}

/** Whether an open file still has this path. */
function isOpenAs(fd: number, file: string): boolean {
  return textOfName(readlinkSync(`/proc/self/fd/${fd}`, "buffer")) === file;
}

/** Mounts the other entries of a folder again. No command can write the folder, so they cannot be replaced meanwhile. */
function entriesBesides(without: readonly string[], folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !without.includes(name))
    .flatMap((entry) => {
      const file = path.join(folder, entry.name);
      return entry.isSymbolicLink() ? ["--symlink", readlinkSync(file), file] : ["--ro-bind-try", file, file];
    });
}
