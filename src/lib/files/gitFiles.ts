import { existsSync, lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import path from "node:path";
import { gitSettings } from "./gitConfig.js";
import type { MayRead } from "./guardedRead.js";
import { smallFileIfAny } from "./smallFile.js";

const LARGEST_POINTER = { maxBytes: 4096 };

/**
 * A worktree or submodule has a file `.git`. A `.git` folder without HEAD is not a checkout: the sandbox creates one to keep commands from
 * creating a repository.
 */
export function isCheckout(folder: string): boolean {
  const dotGit = path.join(folder, ".git");
  const there = statsOf(dotGit);
  return there !== undefined && (there.isFile() || existsSync(path.join(dotGit, "HEAD")));
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // A link to itself, or a folder without permission to look inside.
    return undefined;
  }
}

interface GitFolders {
  /** Contains this worktree's HEAD. */
  readonly own: string;
  /** Contains the refs and the configuration; differs from `own` in a linked worktree. */
  readonly common: string;
}

/**
 * Git's folders for a checkout. A linked worktree uses those of its main repository, but only if that repository lists the worktree: anyone
 * can write a `.git` file that points to a foreign repository. Undefined where git would find no repository either.
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

/** Uses git's own list of worktrees: a folder in the repository's `worktrees` names the `.git` file that points to it. */
function knowsWorktree({ own, common, checkout }: GitFolders & { readonly checkout: string }): boolean {
  try {
    const real = realpathSync.native(own);
    if (path.dirname(real) !== path.join(realpathSync.native(common), "worktrees")) return false;
    const named = smallFileIfAny(path.join(real, "gitdir"), LARGEST_POINTER)?.trim();
    if (!named || path.basename(named) !== ".git") return false;
    // A link to another worktree's `.git` file does not make this folder that worktree.
    if (!lstatSync(path.join(checkout, ".git")).isFile()) return false;
    return realpathSync.native(path.dirname(path.resolve(real, named))) === realpathSync.native(checkout);
  } catch {
    return false;
  }
}

/** The state of a checkout, with Codex's field names for rollouts. */
interface GitCheckout {
  readonly commit_hash?: string;
  readonly branch?: string;
  readonly repository_url?: string;
}

/**
 * Reads git's own files, because starting a git process per new thread costs more than the thread. Anything unusual (another ref storage,
 * an unreadable or very large file) means "not a checkout", or an unknown field.
 *
 * Anyone can create a `.git` that points to a foreign repository, and everyone who may read the thread can read its record. Therefore only
 * a repository that lists this checkout as its own is reported, only from its own files, and only if they may be read.
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

/** The nearest checkout: this folder or one of its parents. */
export function findCheckout(cwd: string): string | undefined {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    if (isCheckout(folder)) return folder;
    if (folder === path.dirname(folder)) return undefined;
  }
}

type ReadText = (file: string) => string | undefined;

/** Enough for the packed refs of large repositories. The read is synchronous because a rollout begins with this data. */
const LARGEST_READ = { maxBytes: 8 * 1024 * 1024 };

function readerOf({ own, common }: GitFolders, mayRead: MayRead): ReadText {
  const repository = [own, common].map((folder) => `${realpathSync.native(folder)}${path.sep}`);
  const isOfRepository: MayRead = (file) => repository.some((folder) => file.startsWith(folder));
  return (file) => smallFileIfAny(file, { ...LARGEST_READ, mayRead: (real) => isOfRepository(real) && mayRead(real) });
}

/**
 * True for the checkout's own `.git` folder, for a submodule's folder whose configuration names the checkout, and for a linked worktree,
 * which was checked before.
 */
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
function firstValue(config: string, wanted: { readonly section: RegExp; readonly key: string }): string | undefined {
  for (const { section, key, value } of gitSettings(config))
    if (key === wanted.key && value !== "" && wanted.section.test(section)) return value;
  return undefined;
}

/** A remote URL may contain a token (`https://token@host`, `ssh://user:secret@host`). The user name of ssh is not a secret and stays. */
function withoutCredentials(url: string): string {
  return url.replace(/^(https?:\/\/)[^/]*@/i, "$1").replace(/^((?:[a-z][a-z0-9+.-]*:\/\/)?[^/:@]*):[^/]*@/i, "$1@");
}
