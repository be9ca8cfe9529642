import { AppError } from "../lib/errors.js";
import { oneLine } from "../lib/oneLine.js";
import type { OneOffResult } from "../threads/engineServices.js";
import { QUIET_GIT } from "./reviewTarget.js";

/** The diff between a working tree and its remote. */
export interface RemoteDiff {
  /** The remote commit that the tree is compared with. */
  readonly sha: string;
  readonly diff: string;
}

/** There is nothing to compare with: no repository, no remote, or a branch that was never pushed. */
export class NoRemoteDiff extends AppError {
  readonly code = "no_remote_diff";
}

/** Runs a command in the folder, in a read-only sandbox. */
type Run = (argv: readonly string[]) => Promise<OneOffResult>;

/** Maximum number of untracked files: a diff with more is not useful to read. */
const MOST_UNTRACKED = 500;
/** Files per command. */
const BATCH = 100;
/** In a submodule, git would start another git, which reads the submodule's own configuration. */
const DIFF = ["diff", "--no-textconv", "--no-ext-diff", "--ignore-submodules=dirty", "--submodule=short"];
const MOST_FILTER_KEYS = 200;
const NO_SUCH_KEY = 1;
/**
 * The scopes of settings that come from the repository. Settings for all repositories, such as the filter of Git LFS, are the user's own.
 */
const OF_REPOSITORY: ReadonlySet<string> = new Set(["local", "worktree"]);

/**
 * Compares the working tree, including uncommitted changes, with the nearest commit that a remote is known to have: of the current branch,
 * the default branch, or any branch that contains HEAD. Fetches nothing. Throws `NoRemoteDiff`.
 */
export async function diffToRemote(run: Run): Promise<RemoteDiff> {
  let git = new Git(run);
  if ((await git.line("rev-parse", "--is-inside-work-tree")) !== "true")
    throw new NoRemoteDiff("this is not the working tree of a git repository");
  const remotes = (await git.lines("remote")).sort((one, other) => Number(other === "origin") - Number(one === "origin"));
  if (remotes.length === 0) throw new NoRemoteDiff("the repository has no remote");
  const nearest = await nearestCommit(git, remotes);
  if (!nearest) throw new NoRemoteDiff("no remote branch is known from which this branch started: push it, or fetch");
  git = await withoutRepositoryFilters(git, run);
  const tracked = await git.output(DIFF.concat(nearest), { codes: [0, 1] });
  return { sha: nearest, diff: tracked + (await untrackedFiles(git)) };
}

/**
 * The same git without the filters that the repository configures. They are turned off in the environment, because a key may contain an
 * equals sign.
 */
async function withoutRepositoryFilters(git: Git, run: Run): Promise<Git> {
  const asked = ["config", "--null", "--show-scope", "--name-only", "--get-regexp", "^filter\\..*\\.(clean|process|required)$"];
  const fields = (await git.output(asked, { codes: [0, NO_SUCH_KEY] })).split("\0");
  const keys = new Set(fields.filter((_, at) => at % 2 === 1 && OF_REPOSITORY.has(fields[at - 1] ?? "")));
  if (keys.size > MOST_FILTER_KEYS) throw new NoRemoteDiff(`the repository configures more than ${MOST_FILTER_KEYS} filters`);
  const settings = [...keys].flatMap((key, at) => [
    `GIT_CONFIG_KEY_${at}=${key}`,
    `GIT_CONFIG_VALUE_${at}=${key.endsWith(".required") ? "false" : ""}`,
  ]);
  return new Git((argv) => run(["env", `GIT_CONFIG_COUNT=${keys.size}`, ...settings, ...argv]));
}

async function nearestCommit(git: Git, remotes: readonly string[]): Promise<string | undefined> {
  let best: { readonly sha: string; readonly distance: number } | undefined;
  for (const ref of new Set(await candidates(git, remotes))) {
    const sha = await git.line("rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
    const distance = sha === undefined ? Number.NaN : Number(await git.line("rev-list", "--count", `${sha}..HEAD`));
    if (sha !== undefined && Number.isInteger(distance) && (!best || distance < best.distance)) best = { sha, distance };
  }
  return best?.sha;
}

/** Remote references, most likely first. The first remote that has a branch is used. */
async function candidates(git: Git, remotes: readonly string[]): Promise<string[]> {
  const current = await git.line("symbolic-ref", "--short", "--quiet", "HEAD");
  const known = new Set(await git.lines("for-each-ref", "--format=%(refname)", "refs/remotes"));
  const defaults = await Promise.all(remotes.map((remote) => git.line("symbolic-ref", "--quiet", `refs/remotes/${remote}/HEAD`)));
  const ofBranch = (branch: string) => remotes.map((remote) => `refs/remotes/${remote}/${branch}`).find((ref) => known.has(ref));
  const holding = await git.lines("for-each-ref", "--format=%(refname)", "--contains=HEAD", "refs/remotes");
  const named = [...(current === undefined ? [] : [current]), "main", "master"].map(ofBranch);
  return [...named.slice(0, 1), ...defaults, ...named.slice(1), ...holding].filter((ref) => ref !== undefined);
}

/** One command shows many files: a command per file would need a sandbox per file. */
const SHOW_EACH = `for file; do ${[...QUIET_GIT, ...DIFF].join(" ")} --binary --no-index -- /dev/null "$file"; done; exit 0`;

async function untrackedFiles(git: Git): Promise<string> {
  const listed = await git.output(["ls-files", "--others", "--exclude-standard", "-z"], { codes: [0] });
  const files = listed.split("\0").filter((file) => file !== "");
  if (files.length > MOST_UNTRACKED)
    throw new NoRemoteDiff(`${files.length} files are untracked, too many to show: add them to .gitignore`);
  let text = "";
  for (let at = 0; at < files.length; at += BATCH) text += await git.showNew(files.slice(at, at + BATCH));
  return text;
}

class Git {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The first line of the output; undefined if git fails or prints nothing. */
  async line(...args: readonly string[]): Promise<string | undefined> {
    return (await this.lines(...args))[0];
  }

  async lines(...args: readonly string[]): Promise<string[]> {
    const { exitCode, stdout, isCut } = await this.#run([...QUIET_GIT, ...args]);
    if (exitCode !== 0 || isCut) return [];
    return stdout.split("\n").filter((line) => line !== "");
  }

  /** The complete output. Throws if it was truncated. */
  async output(args: readonly string[], { codes }: { readonly codes: readonly number[] }): Promise<string> {
    return wholeOutput(await this.#run([...QUIET_GIT, ...args]), codes);
  }

  async showNew(files: readonly string[]): Promise<string> {
    return wholeOutput(await this.#run(["sh", "-c", SHOW_EACH, "sh", ...files]), [0]);
  }
}

function wholeOutput({ exitCode, stdout, stderr, timedOut, isCut }: OneOffResult, codes: readonly number[]): string {
  if (timedOut) throw new NoRemoteDiff("git took too long");
  if (isCut) throw new NoRemoteDiff("the diff is larger than the limit of a command's output");
  if (!codes.includes(exitCode)) throw new NoRemoteDiff(oneLine(stderr.trim() || `git ended with code ${exitCode}`, 300));
  return stdout;
}
