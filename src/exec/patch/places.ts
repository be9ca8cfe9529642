import { randomBytes } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, rmdir } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import type { MayRead } from "../../lib/files/guardedRead.js";
import { isKernelPlace } from "../../lib/files/kernelFiles.js";
import { O_PATH } from "../../platform/paths.js";
import { NotPatchable, orFail, PatchFailed } from "./errors.js";
import type { PlannedFile } from "./plannedFiles.js";

/** A name in a held folder. */
export class HeldEntry {
  constructor(
    readonly folder: HeldFolder,
    readonly name: string,
  ) {}

  get path(): string {
    return this.folder.at(this.name);
  }

  get realPath(): string {
    return path.join(this.folder.realPath, this.name);
  }

  /** An unused name beside this one, short enough for every file system. */
  sibling(): HeldEntry {
    return new HeldEntry(this.folder, `.patch-${randomBytes(6).toString("hex")}`);
  }
}

interface WriteTarget {
  readonly path: string;
  /** The path as the patch wrote it, for the error. */
  readonly shownAs: string;
  /** How the failure to do it is reported, e.g. `Failed to write file a.txt`. */
  readonly attempt: string;
  readonly followLink: boolean;
  readonly createFolders: boolean;
}

/** The place the path leads to, if it may be written there. */
export async function holdTarget(target: WriteTarget, tools: StepTools): Promise<HeldEntry> {
  const { attempt, shownAs, followLink, createFolders } = target;
  const real = await orFail(attempt, () => realEntry(target.path, { followLink }));
  if (!isOpenTo(joined(real), tools)) {
    throw new PatchFailed(`${attempt}: ${joined(real)} is outside of the folders that may be written`, { reason: "denied" });
  }
  const opening = createFolders ? `Failed to create parent directories for ${shownAs}` : attempt;
  const folder = await orFail(opening, () => tools.folders.open(real.folder, { create: createFolders }));
  return new HeldEntry(folder, real.name);
}

/** What the kernel makes up is no file to patch, whoever allowed it. */
export function isOpenTo(realPath: string, { mayWrite }: Pick<StepTools, "mayWrite">): boolean {
  return !isKernelPlace(realPath) && mayWrite(realPath);
}

export interface StepTools {
  readonly folders: HeldFolders;
  readonly mayWrite: MayWrite;
  readonly mayRead: MayRead;
}

/** Decides about a path that has no link in it. */
export type MayWrite = (realPath: string) => boolean;

/** Where an entry really is: a folder without links in its path, and the entry's name in it. */
interface RealEntry {
  readonly folder: string;
  readonly name: string;
}

/** With `followLink` a link at the path leads to what it points to, which must exist; without, the link itself is meant. */
async function realEntry(target: string, { followLink }: { followLink: boolean }): Promise<RealEntry> {
  if (followLink && (await isLink(target))) {
    const real = await realpath(target);
    return { folder: path.dirname(real), name: path.basename(real) };
  }
  return { folder: await realFolder(path.dirname(target)), name: path.basename(target) };
}

export interface TouchedPath {
  /** Of the file as the plan knows it. */
  readonly path: string;
  readonly real: string;
}

/**
 * Every real path the plan would write or remove, move destinations included; of a link that is removed also the place it leads to, because
 * what it holds is shown or moved. A path that cannot be resolved is given as it is: applying the plan will fail on it.
 */
export async function touchedPaths({ files }: { readonly files: readonly PlannedFile[] }): Promise<TouchedPath[]> {
  const places = files.flatMap(({ path: target, before, after }) => {
    if (before === undefined && after === undefined) return [];
    const ways = after === undefined ? [false, true] : [true];
    return ways.map(async (followLink) => ({ path: target, real: await realEntry(target, { followLink }).then(joined, () => target) }));
  });
  return await Promise.all(places);
}

function joined({ folder, name }: RealEntry): string {
  return path.join(folder, name);
}

async function isLink(target: string): Promise<boolean> {
  try {
    return (await lstat(target)).isSymbolicLink();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Folders that are still to be made are named below the real path of the nearest one that exists. */
async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return path.join(await realFolder(path.dirname(folder)), path.basename(folder));
  }
}

function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** A folder that stays the one that was checked, whatever happens to the names that led to it. */
interface HeldFolder {
  readonly realPath: string;
  /** A path to the entry that leads through the folder itself. */
  at(name: string): string;
  /** Throws if the folder is no longer what its path leads to; only asked where a folder cannot be held. */
  confirm(): Promise<void>;
}

/**
 * Opens folders by real path, one component after the other, never through a link. On Linux each is held by a descriptor and entries
 * are reached by /proc/self/fd, so that a link swapped in after the check leads nowhere. Elsewhere the path is checked
 * before and after use, which leaves a gap between the two.
 */
export class HeldFolders {
  readonly #held = new Map<string, HeldFolder>();
  readonly #handles: FileHandle[] = [];
  readonly #made: { readonly parent: HeldFolder; readonly name: string }[] = [];
  readonly #byDescriptor: boolean;

  constructor({ byDescriptor = process.platform === "linux" && existsSync("/proc/self/fd") } = {}) {
    this.#byDescriptor = byDescriptor;
  }

  /** The folder, made if it is missing and `create` is set; its parents likewise. */
  async open(realPath: string, { create }: { create: boolean }): Promise<HeldFolder> {
    const known = this.#held.get(realPath);
    if (known !== undefined) return known;
    const folder = await this.#reach(realPath, { create });
    this.#held.set(realPath, folder);
    return folder;
  }

  /** Undoes what `create` made, as far as it is empty. */
  async removeMade(): Promise<void> {
    for (const { parent, name } of this.#made.splice(0).reverse()) {
      await rmdir(parent.at(name)).catch(ignoreInUse);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#held.clear();
    for (const handle of this.#handles.splice(0)) await handle.close();
  }

  async #reach(realPath: string, { create }: { create: boolean }): Promise<HeldFolder> {
    const parentPath = path.dirname(realPath);
    if (parentPath === realPath) return await this.#hold(realPath, realPath);
    const parent = await this.open(parentPath, { create });
    const name = path.basename(realPath);
    try {
      return await this.#hold(realPath, parent.at(name));
    } catch (error) {
      if (!create || errorCode(error) !== "ENOENT") throw error;
    }
    if (await madeHere(parent.at(name))) this.#made.push({ parent, name });
    return await this.#hold(realPath, parent.at(name));
  }

  async #hold(realPath: string, via: string): Promise<HeldFolder> {
    if (!this.#byDescriptor) return await folderByPath(realPath);
    const handle = await open(via, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    this.#handles.push(handle);
    return { realPath, at: (name) => `/proc/self/fd/${handle.fd}/${name}`, confirm: async () => {} };
  }
}

async function folderByPath(realPath: string): Promise<HeldFolder> {
  const confirm = async () => {
    if (!(await lstat(realPath)).isDirectory() || (await realpath(realPath)) !== realPath)
      throw new NotPatchable(`${realPath} is not a folder`);
  };
  await confirm();
  return { realPath, at: (name) => path.join(realPath, name), confirm };
}

/** False if somebody else made it at the same moment. */
async function madeHere(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Somebody else put something into the folder meanwhile, or something in its place: it is not ours to clear away. */
function ignoreInUse(error: unknown): void {
  const code = errorCode(error) ?? "";
  if (!["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(code)) throw error;
}
