import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { smallFileIfAny } from "./smallFile.js";

const LARGEST_POINTER = { maxBytes: 4096 };

/** A worktree or submodule has a file `.git`. A folder without HEAD is none: the sandbox puts one where commands must not make a repository. */
export function isCheckout(folder: string): boolean {
  const dotGit = path.join(folder, ".git");
  return existsSync(path.join(dotGit, "HEAD")) || isFile(dotGit);
}

function isFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // A link to itself, or a folder that may not be looked into.
    return false;
  }
}

export interface GitFolders {
  /** Holds this worktree's HEAD. */
  readonly own: string;
  /** Holds the refs and the configuration; differs from `own` in a linked worktree. */
  readonly common: string;
}

/**
 * Where git keeps what belongs to a checkout. In a linked worktree that is the main repository, but only if the main repository knows the
 * worktree: everybody can write a file that points to somebody else's repository. Undefined where git would find no repository either.
 */
export function gitFoldersOf(checkout: string): GitFolders | undefined {
  const dotGit = path.join(checkout, ".git");
  if (existsSync(path.join(dotGit, "HEAD"))) return { own: dotGit, common: dotGit };
  const target = /^gitdir: (.+)$/m.exec(smallFileIfAny(dotGit, LARGEST_POINTER) ?? "")?.[1]?.trim();
  if (target === undefined) return undefined;
  const own = path.resolve(checkout, target);
  const pointer = smallFileIfAny(path.join(own, "commondir"), LARGEST_POINTER)?.trim();
  if (pointer === undefined) return existsSync(path.join(own, "HEAD")) ? { own, common: own } : undefined;
  const common = path.resolve(own, pointer);
  return knowsWorktree({ own, common, checkout }) ? { own, common } : undefined;
}

/** As git's own list of worktrees: a folder in `worktrees` of the repository names the `.git` file that points to it. */
function knowsWorktree({ own, common, checkout }: GitFolders & { readonly checkout: string }): boolean {
  try {
    const real = realpathSync.native(own);
    if (path.dirname(real) !== path.join(realpathSync.native(common), "worktrees")) return false;
    const named = smallFileIfAny(path.join(real, "gitdir"), LARGEST_POINTER)?.trim();
    if (!named || path.basename(named) !== ".git") return false;
    // A link to the pointer of another worktree is not that worktree.
    if (!lstatSync(path.join(checkout, ".git")).isFile()) return false;
    return realpathSync.native(path.dirname(path.resolve(real, named))) === realpathSync.native(checkout);
  } catch {
    return false;
  }
}
