import { AppError } from "../lib/errors.js";
import { oneLine } from "../lib/oneLine.js";
import type { OneOffResult } from "../threads/engineServices.js";
import { QUIET_GIT } from "./reviewTarget.js";

/** What a working tree has that its remote has not. */
export interface RemoteDiff {
  /** The commit of the remote that it is compared with. */
  readonly sha: string;
  readonly diff: string;
}

/** There is nothing to compare with: no repository, no remote, a branch that nobody has pushed. */
export class NoRemoteDiff extends AppError {
  readonly code = "no_remote_diff";
}

/** Runs a command in the folder, in a sandbox that only reads. */
type Run = (argv: readonly string[]) => Promise<OneOffResult>;

/** Files that git does not know yet; more of them are no change that somebody wants to read. */
const MOST_UNTRACKED = 500;
/** So many are shown by one command. */
const BATCH = 100;
const DIFF = ["diff", "--no-textconv", "--no-ext-diff"];

/**
 * The working tree, committed or not, against the nearest commit that a remote is known to have: of the current branch, the default one, or any that holds HEAD. Nothing is
 * fetched. Throws `NoRemoteDiff`.
 */
export async function diffToRemote(run: Run): Promise<RemoteDiff> {
  const git = new Git(run);
  if ((await git.line("rev-parse", "--is-inside-work-tree")) !== "true")
    throw new NoRemoteDiff("this is not the working tree of a git repository");
  const remotes = (await git.lines("remote")).sort((one, other) => Number(other === "origin") - Number(one === "origin"));
  if (remotes.length === 0) throw new NoRemoteDiff("the repository has no remote");
  const nearest = await nearestCommit(git, remotes);
  if (!nearest) throw new NoRemoteDiff("no branch of a remote is known that this one began from: push it, or fetch");
  const tracked = await git.output(DIFF.concat(nearest), { codes: [0, 1] });
  return { sha: nearest, diff: tracked + (await untrackedFiles(git)) };
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

/** References of remotes, the likeliest first: the first remote that has a branch counts. */
async function candidates(git: Git, remotes: readonly string[]): Promise<string[]> {
  const current = await git.line("symbolic-ref", "--short", "--quiet", "HEAD");
  const known = new Set(await git.lines("for-each-ref", "--format=%(refname)", "refs/remotes"));
  const defaults = await Promise.all(remotes.map((remote) => git.line("symbolic-ref", "--quiet", `refs/remotes/${remote}/HEAD`)));
  const ofBranch = (branch: string) => remotes.map((remote) => `refs/remotes/${remote}/${branch}`).find((ref) => known.has(ref));
  const holding = await git.lines("for-each-ref", "--format=%(refname)", "--contains=HEAD", "refs/remotes");
  const named = [...(current === undefined ? [] : [current]), "main", "master"].map(ofBranch);
  return [...named.slice(0, 1), ...defaults, ...named.slice(1), ...holding].filter((ref) => ref !== undefined);
}

/** One command shows many of them: each for itself would take a sandbox each. */
const SHOW_EACH = `for file; do ${[...QUIET_GIT, ...DIFF].join(" ")} --binary --no-index -- /dev/null "$file"; done; exit 0`;

async function untrackedFiles(git: Git): Promise<string> {
  const listed = await git.output(["ls-files", "--others", "--exclude-standard", "-z"], { codes: [0] });
  const files = listed.split("\0").filter((file) => file !== "");
  if (files.length > MOST_UNTRACKED)
    throw new NoRemoteDiff(`${files.length} files are not tracked, more than are shown: have git ignore them`);
  let text = "";
  for (let at = 0; at < files.length; at += BATCH) text += await git.showNew(files.slice(at, at + BATCH));
  return text;
}

class Git {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The first line of what it says; undefined when it fails or says nothing. */
  async line(...args: readonly string[]): Promise<string | undefined> {
    return (await this.lines(...args))[0];
  }

  async lines(...args: readonly string[]): Promise<string[]> {
    const { exitCode, stdout, isCut } = await this.#run([...QUIET_GIT, ...args]);
    if (exitCode !== 0 || isCut) return [];
    return stdout.split("\n").filter((line) => line !== "");
  }

  /** Whole, or not at all. */
  async output(args: readonly string[], { codes }: { readonly codes: readonly number[] }): Promise<string> {
    return wholeOutput(await this.#run([...QUIET_GIT, ...args]), codes);
  }

  async showNew(files: readonly string[]): Promise<string> {
    return wholeOutput(await this.#run(["sh", "-c", SHOW_EACH, "sh", ...files]), [0]);
  }
}

function wholeOutput({ exitCode, stdout, stderr, timedOut, isCut }: OneOffResult, codes: readonly number[]): string {
  if (timedOut) throw new NoRemoteDiff("git took too long");
  if (isCut) throw new NoRemoteDiff("the changes are larger than what is kept of a command's output");
  if (!codes.includes(exitCode)) throw new NoRemoteDiff(oneLine(stderr.trim() || `git ended with code ${exitCode}`, 300));
  return stdout;
}
