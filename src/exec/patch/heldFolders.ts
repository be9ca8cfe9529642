import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, rmdir } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { NotPatchable } from "./readFile.js";

/** A folder that stays the one that was checked, whatever happens to the names that led to it. */
export interface HeldFolder {
  readonly realPath: string;
  /** A path to the entry that leads through the folder itself. */
  at(name: string): string;
  /** Throws if the folder is no longer what its path leads to; only asked where a folder cannot be held. */
  confirm(): Promise<void>;
}

/** Linux's flag to hold a folder without the right to list it. Node has no name for it; the value is the same on all its platforms. */
const O_PATH = 0o10000000;

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
