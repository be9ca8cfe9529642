import { closeSync, constants, lstatSync, openSync, readlinkSync } from "node:fs";
import path from "node:path";
import { RootRefused } from "../errors.js";
import type { Confinement } from "./confinement.js";
import { enforceableRoots } from "./enforceableRoots.js";
import { type Mount, planMounts } from "./mounts.js";
import { O_PATH, type Placeholders, pathOf } from "./placeholders.js";
import { writableRoots } from "./policy.js";
import { isThere, resolvedAsFarAsPossible } from "./realPath.js";

/** Mounts need something to lie on. */
export interface MountedConfinement extends Confinement {
  readonly placeholders: Placeholders;
}

/** The file tree that a sandboxed command sees, as flags of bubblewrap. */
export interface OpenTree {
  readonly flags: readonly string[];
  /** What the flags refer to, from `firstDescriptor` on. */
  readonly descriptors: readonly number[];
  release(): void;
}

/** Long enough for the commands of a turn, and short enough for nobody to wonder about it in /tmp. */
const LINGER_MS = 5_000;
const SYSTEM_FILES = ["--ro-bind", "/sys", "/sys"];
/** Capabilities or not, root may write sysctls wherever /proc is writable. */
const OWN_DEVICES_AND_PROCESSES = ["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"];

export function openTree(
  { policy, workspace, serverEnv, hidden, placeholders }: MountedConfinement,
  { firstDescriptor }: { firstDescriptor: number },
): OpenTree {
  const roots = enforceableRoots(writableRoots(policy, { workspace, env: serverEnv }));
  const mounts = planMounts(roots, hidden.map(resolvedAsFarAsPossible).filter(isThere));
  const temporary = new Set(roots.filter((root) => root.temporary).map(({ root }) => root));
  const folders = new OpenFolders();
  const undo: (() => void)[] = [];
  const release = () => {
    for (const step of undo.splice(0)) step();
    folders.close();
  };
  const protect = (file: string) => {
    const folder = folders.find(path.dirname(file));
    if (folder === undefined) return isThere(file) ? ["--ro-bind", file, file] : [];
    const place = { folder, name: path.basename(file) };
    const giveUp = placeholders.hold(place, { lingerMs: temporary.has(path.dirname(file)) ? LINGER_MS : 0 });
    if (giveUp) undo.push(giveUp);
    if (isThere(pathOf(place))) return ["--ro-bind", file, file];
    if (giveUp) throw new RootRefused(`The command was not run: ${file} could not be protected, because something removes it. Try again.`);
    return [];
  };
  const flagsOf = (mount: Mount) => {
    if (mount.access === "write") return ["--bind-fd", String(firstDescriptor + folders.open(mount.path)), mount.path];
    return mount.access === "read" ? protect(mount.path) : hidingFlags(mount.path);
  };
  try {
    const everything = roots.some(({ root }) => root === "/");
    const special = mounts.flatMap(flagsOf);
    const flags = ["--ro-bind", "/", "/", ...special, ...(everything ? SYSTEM_FILES : []), ...OWN_DEVICES_AND_PROCESSES];
    return { flags, descriptors: folders.descriptors, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Folders held open by descriptor, so that a link swapped in before the mount is made does not change what is mounted. */
class OpenFolders {
  readonly #byPath = new Map<string, number>();

  get descriptors(): number[] {
    return [...this.#byPath.values()];
  }

  find(folder: string): number | undefined {
    return this.#byPath.get(folder);
  }

  /** Returns which of the descriptors it is. */
  open(folder: string): number {
    this.#byPath.set(folder, openFolder(folder));
    return this.#byPath.size - 1;
  }

  close(): void {
    for (const fd of this.#byPath.values()) closeSync(fd);
    this.#byPath.clear();
  }
}

function openFolder(folder: string): number {
  const moved = `The command was not run: ${folder} was moved or replaced while the sandbox was set up. Try again.`;
  let fd: number;
  try {
    fd = openSync(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw new RootRefused(moved, { cause: error });
  }
  if (readlinkSync(`/proc/self/fd/${fd}`) === folder) return fd;
  closeSync(fd);
  throw new RootRefused(moved);
}

/** A device on a mount without devices cannot be opened, and neither can a folder without permissions. */
function hidingFlags(file: string): string[] {
  const folder = lstatSync(file, { throwIfNoEntry: false })?.isDirectory();
  return folder ? ["--perms", "0000", "--tmpfs", file, "--remount-ro", file] : ["--ro-bind", "/dev/null", file];
}
