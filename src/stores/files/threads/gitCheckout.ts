import path from "node:path";
import { type GitFolders, gitFoldersOf, isCheckout } from "../../../lib/files/gitFiles.js";
import { smallFileIfAny } from "../../../lib/files/smallFile.js";

/** What a rollout says about the checkout it ran in, with Codex's field names. */
interface GitCheckout {
  readonly commit_hash?: string;
  readonly branch?: string;
  readonly repository_url?: string;
}

/**
 * Read from git's own files, because a process per new thread costs more than the thread. Anything unusual (another
 * ref storage, an unreadable or absurdly large file) counts as not being in a checkout, or as that field being unknown.
 */
export function readGitCheckout(cwd: string): GitCheckout | undefined {
  try {
    const folders = findGitFolders(cwd);
    if (!folders) return undefined;
    const url = originUrl(readSmallFile(path.join(folders.common, "config")) ?? "");
    const checkout = { ...readHead(folders), ...(url === undefined ? {} : { repository_url: withoutCredentials(url) }) };
    return Object.keys(checkout).length > 0 ? checkout : undefined;
  } catch {
    return undefined;
  }
}

function findGitFolders(cwd: string): GitFolders | undefined {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    if (isCheckout(folder)) return gitFoldersOf(folder);
    if (folder === path.dirname(folder)) return undefined;
  }
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** As `git rev-parse` answers: a detached HEAD has no branch, a branch without commits has neither. */
function readHead(folders: GitFolders): Pick<GitCheckout, "commit_hash" | "branch"> {
  const head = readSmallFile(path.join(folders.own, "HEAD"))?.trim() ?? "";
  if (COMMIT.test(head)) return { commit_hash: head };
  const ref = /^ref: (refs\/.+)$/.exec(head)?.[1];
  if (ref === undefined || ref.includes("..")) return {};
  const commit = commitOf(ref, folders.common);
  return commit === undefined ? {} : { commit_hash: commit, branch: ref.replace(/^refs\/heads\//, "") };
}

function commitOf(ref: string, common: string): string | undefined {
  const loose = readSmallFile(path.join(common, ref))?.trim();
  if (loose !== undefined) return COMMIT.test(loose) ? loose : undefined;
  const packed = readSmallFile(path.join(common, "packed-refs"));
  const line = packed?.split("\n").find((entry) => entry.endsWith(` ${ref}`));
  const commit = line?.slice(0, -ref.length - 1);
  return commit !== undefined && COMMIT.test(commit) ? commit : undefined;
}

/** The first `url` in `[remote "origin"]`. */
function originUrl(config: string): string | undefined {
  let inOrigin = false;
  for (const line of config.split("\n")) {
    const section = /^\s*\[(.+)\]/.exec(line)?.[1];
    if (section !== undefined) inOrigin = /^remote\s+"origin"$/i.test(section);
    const url = inOrigin ? /^\s*url\s*=\s*"?([^"]*?)"?\s*$/i.exec(line)?.[1] : undefined;
    if (url) return url;
  }
  return undefined;
}

/** A remote may hold a token (`https://token@host`, `ssh://user:secret@host`); the user name of ssh is none and stays. */
function withoutCredentials(url: string): string {
  return url.replace(/^(https?:\/\/)[^/]*@/i, "$1").replace(/^((?:[a-z][a-z0-9+.-]*:\/\/)?[^/:@]*):[^/]*@/i, "$1@");
}

/** Enough for the packed refs of large repositories; read on the spot, because a rollout begins with this. */
const LARGEST_READ = { maxBytes: 8 * 1024 * 1024 };

function readSmallFile(file: string): string | undefined {
  return smallFileIfAny(file, LARGEST_READ);
}
