import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { MayRead } from "./guardedRead.js";
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

interface GitFolders {
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

/** What a checkout is at, with the field names that Codex has in rollouts. */
interface GitCheckout {
  readonly commit_hash?: string;
  readonly branch?: string;
  readonly repository_url?: string;
}

/**
 * Read from git's own files, because a process per new thread costs more than the thread. Anything unusual (another
 * ref storage, an unreadable or absurdly large file) counts as not being in a checkout, or as that field being unknown.
 *
 * Everybody can make a `.git` that leads to a repository of somebody else, and whoever may read the thread reads its record: only a
 * repository that knows the checkout as its own is told, only from files of its own, and only if they may be read.
 */
export function readGitCheckout(cwd: string, mayRead: MayRead): GitCheckout | undefined {
  try {
    const checkout = findCheckout(cwd);
    const folders = checkout === undefined ? undefined : gitFoldersOf(checkout);
    if (checkout === undefined || !folders) return undefined;
    const read = readerOf(folders, mayRead);
    const config = read(path.join(folders.common, "config")) ?? "";
    if (!isOwn(folders, { checkout, config })) return undefined;
    const url = firstValue(config, { section: /^remote\s+"origin"$/i, key: "url" });
    const told = { ...readHead(folders, read), ...(url === undefined ? {} : { repository_url: withoutCredentials(url) }) };
    return Object.keys(told).length > 0 ? told : undefined;
  } catch {
    return undefined;
  }
}

/** The folder around, or the folder itself, that is a checkout. */
export function findCheckout(cwd: string): string | undefined {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    if (isCheckout(folder)) return folder;
    if (folder === path.dirname(folder)) return undefined;
  }
}

type ReadText = (file: string) => string | undefined;

/** Enough for the packed refs of large repositories; read on the spot, because a rollout begins with this. */
const LARGEST_READ = { maxBytes: 8 * 1024 * 1024 };

function readerOf({ own, common }: GitFolders, mayRead: MayRead): ReadText {
  const repository = [own, common].map((folder) => `${realpathSync.native(folder)}${path.sep}`);
  const isOfRepository: MayRead = (file) => repository.some((folder) => file.startsWith(folder));
  return (file) => smallFileIfAny(file, { ...LARGEST_READ, mayRead: (real) => isOfRepository(real) && mayRead(real) });
}

/** A folder `.git` of the checkout itself; a submodule's, whose configuration names the checkout; a linked worktree's, which was found by that. */
function isOwn({ own, common }: GitFolders, { checkout, config }: { readonly checkout: string; readonly config: string }): boolean {
  if (own !== common) return true;
  const real = realpathSync.native(checkout);
  if (realpathSync.native(own) === path.join(real, ".git")) return true;
  const worktree = firstValue(config, { section: /^core$/i, key: "worktree" });
  return worktree !== undefined && realpathSync.native(path.resolve(realpathSync.native(own), worktree)) === real;
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** As `git rev-parse` answers: a detached HEAD has no branch, a branch without commits has neither. */
function readHead(folders: GitFolders, read: ReadText): Pick<GitCheckout, "commit_hash" | "branch"> {
  const head = read(path.join(folders.own, "HEAD"))?.trim() ?? "";
  if (COMMIT.test(head)) return { commit_hash: head };
  const ref = /^ref: (refs\/.+)$/.exec(head)?.[1];
  if (ref === undefined || ref.includes("..")) return {};
  const commit = commitOf(ref, folders.common, read);
  return commit === undefined ? {} : { commit_hash: commit, branch: ref.replace(/^refs\/heads\//, "") };
}

function commitOf(ref: string, common: string, read: ReadText): string | undefined {
  const loose = read(path.join(common, ref))?.trim();
  if (loose !== undefined) return COMMIT.test(loose) ? loose : undefined;
  const packed = read(path.join(common, "packed-refs"));
  const line = packed?.split("\n").find((entry) => entry.endsWith(` ${ref}`));
  const commit = line?.slice(0, -ref.length - 1);
  return commit !== undefined && COMMIT.test(commit) ? commit : undefined;
}

/** The first value of a key in a section of git's configuration. */
function firstValue(config: string, { section, key }: { readonly section: RegExp; readonly key: string }): string | undefined {
  let isThere = false;
  for (const line of config.split("\n")) {
    const begun = /^\s*\[(.+)\]/.exec(line)?.[1];
    if (begun !== undefined) isThere = section.test(begun);
    const [, name, value] = (isThere && /^\s*(\w+)\s*=\s*"?([^"]*?)"?\s*$/.exec(line)) || [];
    if (value && name?.toLowerCase() === key) return value;
  }
  return undefined;
}

/** A remote may hold a token (`https://token@host`, `ssh://user:secret@host`); the user name of ssh is none and stays. */
function withoutCredentials(url: string): string {
  return url.replace(/^(https?:\/\/)[^/]*@/i, "$1").replace(/^((?:[a-z][a-z0-9+.-]*:\/\/)?[^/:@]*):[^/]*@/i, "$1@");
}
