import { randomBytes } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, rmdir } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import type { MayRead } from "../../lib/files/guardedRead.js";
import { isKernelPlace, LONGEST_PATH, pathTooLong } from "../../lib/files/kernelFiles.js";
import { O_PATH } from "../../platform/paths.js";
import { NotPatchable, orFail, PatchFailed } from "./errors.js";
import type { PlannedFile } from "./plannedFiles.js";

/** An entry of a folder that is held open. */
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

  /** An unused name in the same folder, short enough for every file system. */
  sibling(): HeldEntry {
    return new HeldEntry(this.folder, `.patch-${randomBytes(6).toString("hex")}`);
  }
}

interface WriteTarget {
  readonly path: string;
  /** The path as written in the patch, for errors. */
  readonly shownAs: string;
  /** The beginning of the error message, e.g. `Failed to write file a.txt`. */
  readonly attempt: string;
  readonly followLink: boolean;
  readonly createFolders: boolean;
}

/** The real place of the path, if it may be written. */
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

/** Kernel files cannot be patched, even if writing was allowed. */
export function isOpenTo(realPath: string, { mayWrite }: Pick<StepTools, "mayWrite">): boolean {
  return !isKernelPlace(realPath) && mayWrite(realPath);
}

export interface StepTools {
  readonly folders: HeldFolders;
  readonly mayWrite: MayWrite;
  readonly mayRead: MayRead;
}

/** Decides about a path without links. */
export type MayWrite = (realPath: string) => boolean;

/** The real location of an entry: a folder without links in its path, and the entry's name in it. */
interface RealEntry {
  readonly folder: string;
  readonly name: string;
}

/** With `followLink`, a link at the path is resolved and its target must exist; without it, the path names the link itself. */
async function realEntry(target: string, { followLink }: { followLink: boolean }): Promise<RealEntry> {
  if (followLink && (await isLink(target))) {
    const real = await realpath(target);
    return { folder: path.dirname(real), name: path.basename(real) };
  }
  return { folder: await realFolder(path.dirname(target)), name: path.basename(target) };
}

export interface TouchedPath {
  /** The file's path in the plan. */
  readonly path: string;
  readonly real: string;
}

/**
 * Every real path the plan would write or remove, including move destinations. A removed link also adds its target, because the target's
 * content is shown or moved. A path that cannot be resolved is returned unchanged: applying the plan will fail on it.
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

/** Folders that do not exist yet are named below the real path of their nearest existing parent. */
async function realFolder(folder: string): Promise<string> {
  if (folder.length > LONGEST_PATH) throw pathTooLong();
  const found = await realIfThere(folder);
  if (found !== undefined) return found;
  // Starts at the root and stops at the first missing part: to look up every part of a long path takes seconds.
  const steps = folder.split(path.sep);
  let real = path.parse(folder).root;
  for (let at = 1; at < steps.length; at++) {
    const next = await realIfThere(steps.slice(0, at + 1).join(path.sep));
    if (next === undefined) return path.join(real, ...steps.slice(at));
    real = next;
  }
  return real;
}

async function realIfThere(file: string): Promise<string | undefined> {
  try {
    return await realpath(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** A folder that was checked and stays the same folder, whatever happens to the names on its path. */
interface HeldFolder {
  readonly realPath: string;
  /** A path to the entry that goes through the held folder itself. */
  at(name: string): string;
  /** Throws if the path no longer leads to this folder; only called where a folder cannot be held open. */
  confirm(): Promise<void>;
}

/**
 * Opens folders by real path, one component at a time, never through a link. On Linux each is held by a descriptor and its entries are
 * reached through /proc/self/fd, so that a link swapped in after the check has no effect. Elsewhere the path is checked before and after
 * use, which leaves a gap between the two.
 */
export class HeldFolders {
  readonly #held = new Map<string, HeldFolder>();
  readonly #handles: FileHandle[] = [];
  readonly #made: { readonly parent: HeldFolder; readonly name: string }[] = [];
  readonly #byDescriptor: boolean;

  constructor({ byDescriptor = process.platform === "linux" && existsSync("/proc/self/fd") } = {}) {
    this.#byDescriptor = byDescriptor;
  }

  /** Opens the folder. With `create`, it and its parents are created if missing. */
  async open(realPath: string, { create }: { create: boolean }): Promise<HeldFolder> {
    const known = this.#held.get(realPath);
    if (known !== undefined) return known;
    const folder = await this.#reach(realPath, { create });
    this.#held.set(realPath, folder);
    return folder;
  }

  /** Removes the folders made by `create` that are empty. */
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

/** False if someone else created it at the same moment. */
async function madeHere(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Someone else put something into the folder or in its place meanwhile, so we must not remove it. */
function ignoreInUse(error: unknown): void {
  const code = errorCode(error) ?? "";
  if (!["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(code)) throw error;
}
