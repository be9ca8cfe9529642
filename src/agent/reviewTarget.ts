import { AppError } from "../lib/errors.js";
import { oneLine } from "../lib/oneLine.js";
import type { OneOffResult } from "../threads/engineServices.js";
import type { ReviewTarget } from "../threads/events.js";

/** The review target does not exist: no repository, or no such branch or commit. */
export class ReviewTargetMissing extends AppError {
  readonly code = "review_target_missing";
}

/** Runs git in the folder of the review, in a read-only sandbox. */
export type RunGit = (args: readonly string[]) => Promise<OneOffResult>;

/** Prevents lazy fetches of missing objects: the repository's configuration decides how a remote is reached. */
const FETCHES_NOTHING = ["env", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"];
/** A repository's configuration can name programs for nearly everything that git does. */
const RUNS_NOTHING = ["git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
export const QUIET_GIT = [...FETCHES_NOTHING, ...RUNS_NOTHING];
/** In a submodule, git would start another git, which reads the submodule's own configuration. */
const OUTSIDE_SUBMODULES = "--ignore-submodules=dirty";

interface ReviewedFolder {
  readonly folder: string;
  readonly run: RunGit;
}

/** git is missing or timed out, so the model has to look for itself. */
const UNANSWERED: ReadonlySet<number> = new Set([124, 126, 127]);
const NOT_A_REPOSITORY = 128;
const MOST_NAMES = 2_000;
const MOST_FILTER_KEYS = 200;
const SHOWN = 5;
const LONGEST = 120;
const COMPARED = 40;

/**
 * Checks a target before the model reviews it. Returns why there is nothing to review; undefined if there is something, or if it cannot be
 * determined. Throws `ReviewTargetMissing`.
 */
export async function nothingToReview(target: ReviewTarget, { run, folder }: ReviewedFolder): Promise<string | undefined> {
  if (target.type === "custom") return undefined;
  const inside = await run(["rev-parse", "--is-inside-work-tree"]);
  if (UNANSWERED.has(inside.exitCode)) return undefined;
  if (inside.exitCode === NOT_A_REPOSITORY)
    throw new ReviewTargetMissing(
      `There is no git repository to review in ${folder}: ${complaintOf(inside)}. Name the repository as \`cwd\`.`,
    );
  if (target.type === "uncommittedChanges" && inside.stdout.trim() === "false")
    throw new ReviewTargetMissing(
      `The git repository in ${folder} has no working tree, so it has no uncommitted changes: review a branch or a commit, or name a working tree as \`cwd\`.`,
    );
  const git = await withoutFilters(run);
  if (!git) return undefined;
  switch (target.type) {
    case "uncommittedChanges":
      return (await isSilent(git, ["status", "--porcelain", "--untracked-files=normal", OUTSIDE_SUBMODULES])) && !(await hasSubmodules(git))
        ? "Nothing to review: there are no uncommitted changes."
        : undefined;
    case "baseBranch":
      return nothingSince(target.branch, git);
    case "commit":
      return nothingIn(target.sha, git);
  }
}

async function nothingSince(branch: string, git: RunGit): Promise<string | undefined> {
  if (!(await isCommit(branch, git))) throw new ReviewTargetMissing(await unknownBranch(branch, git));
  const base = await git(["merge-base", "HEAD", branch]);
  if (base.exitCode !== 0) return undefined;
  const same = await git(["diff", "--quiet", "--no-ext-diff", "--no-textconv", OUTSIDE_SUBMODULES, base.stdout.trim(), "--"]);
  if (same.exitCode !== 0 || !(await isSilent(git, ["ls-files", "--others", "--exclude-standard", "--directory"]))) return undefined;
  if (await hasSubmodules(git)) return undefined;
  return `Nothing to review: there are no changes since \`${branch}\`.`;
}

async function nothingIn(sha: string, git: RunGit): Promise<string | undefined> {
  if (!(await isCommit(sha, git))) throw new ReviewTargetMissing(await unknownCommit(sha, git));
  const [, ...parents] = (await git(["rev-list", "--parents", "-n", "1", sha, "--"])).stdout.trim().split(" ");
  if (parents.length !== 1) return undefined;
  const same = await git(["diff", "--quiet", "--no-ext-diff", "--no-textconv", `${parents[0]}`, sha, "--"]);
  return same.exitCode === 0 ? `Nothing to review: commit \`${sha}\` changes no files.` : undefined;
}

/** git with all configured filters turned off; undefined if they cannot be turned off. */
async function withoutFilters(git: RunGit): Promise<RunGit | undefined> {
  const listed = await git(["config", "--null", "--name-only", "--get-regexp", "^filter\\..*\\.(clean|process|required)$"]);
  if (listed.exitCode === NO_SUCH_KEY) return git;
  const keys = [...new Set(listed.stdout.split("\0").filter((key) => key !== ""))];
  // git would take everything after the first equals sign as the value.
  if (listed.exitCode !== 0 || keys.length > MOST_FILTER_KEYS || keys.some((key) => key.includes("="))) return undefined;
  const off = keys.flatMap((key) => ["-c", key.endsWith(".required") ? `${key}=false` : `${key}=`]);
  return (args) => git([...off, ...args]);
}

const NO_SUCH_KEY = 1;

/** Whether there are submodules, which were not checked. */
async function hasSubmodules(git: RunGit): Promise<boolean> {
  const { exitCode } = await git(["config", "--file", ".gitmodules", "--name-only", "--get-regexp", "^submodule\\."]);
  return exitCode === 0;
}

/** A name that starts with a dash would be an option. */
async function isCommit(name: string, git: RunGit): Promise<boolean> {
  if (name.startsWith("-") || name.includes("\0")) return false;
  return (await git(["rev-parse", "--verify", "--quiet", `${name}^{commit}`])).exitCode !== 1;
}

async function unknownBranch(branch: string, git: RunGit): Promise<string> {
  const listed = await git([
    "for-each-ref",
    `--count=${MOST_NAMES}`,
    "--format=%(refname:short)",
    "refs/heads",
    "refs/remotes",
    "refs/tags",
  ]);
  const names = linesOf(listed);
  const near = nearNames(branch, names);
  const others = names.length > 0 ? "`git branch --all` lists them." : NO_COMMITS;
  const advice = near.length > 0 ? `Did you mean ${near.map((name) => `\`${name}\``).join(" or ")}?` : others;
  return `There is no branch \`${oneLine(branch, LONGEST)}\` in this repository. ${advice}`;
}

const NO_COMMITS = "It has no commits yet.";

async function unknownCommit(sha: string, git: RunGit): Promise<string> {
  const recent = linesOf(await git(["log", "--no-show-signature", "-n", `${SHOWN}`, "--format=%h %s"])).map((line) =>
    oneLine(line, LONGEST),
  );
  const advice = recent.length > 0 ? `The last ones are: ${recent.join("; ")}.` : NO_COMMITS;
  return `There is no commit \`${oneLine(sha, LONGEST)}\` in this repository. ${advice}`;
}

async function isSilent(git: RunGit, args: readonly string[]): Promise<boolean> {
  const { exitCode, stdout } = await git(args);
  return exitCode === 0 && stdout.trim() === "";
}

function linesOf({ exitCode, stdout }: OneOffResult): string[] {
  return exitCode === 0 ? stdout.split("\n").filter((line) => line !== "") : [];
}

function complaintOf({ stderr }: OneOffResult): string {
  const [first = ""] = stderr.trim().split("\n");
  return oneLine(first.replace(/^fatal: /, ""), LONGEST) || "git gave no reason";
}

/** Similar names: one contains the other, or few letters differ. */
export function nearNames(wanted: string, names: readonly string[]): string[] {
  const asked = wanted.toLowerCase();
  const distances = names.map((name) => ({ name, distance: distanceTo(asked, name.toLowerCase()) }));
  const near = distances.filter(({ distance }) => distance <= Math.max(2, Math.floor(asked.length / 3)));
  return near
    .sort((one, other) => one.distance - other.distance)
    .slice(0, SHOWN)
    .map(({ name }) => name);
}

/** Also compares without the remote's name: `main` is near `origin/main`. */
function distanceTo(asked: string, name: string): number {
  const last = name.slice(name.indexOf("/") + 1);
  if (asked.length > 2 && (name.includes(asked) || asked.includes(name))) return 1;
  return Math.min(editDistance(asked, name), editDistance(asked, last) + 1);
}

/** The Levenshtein distance. Long names are compared by their beginnings only: the time grows with the square of the length, for each name. */
function editDistance(one: string, other: string): number {
  const [from, to] = [one.slice(0, COMPARED), other.slice(0, COMPARED)];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...from].entries()) {
    const next = [at + 1];
    for (const [column, wanted] of [...to].entries()) {
      const changed = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The target with additional instructions for the reviewer. Only a custom target has room for them. */
export function focusedTarget(target: ReviewTarget, focus: string | undefined): ReviewTarget {
  if (focus === undefined || focus.trim() === "") return target;
  return { type: "custom", instructions: `${inWords(target)}\n\n${focus}` };
}

function inWords(target: ReviewTarget): string {
  switch (target.type) {
    case "uncommittedChanges":
      return "Review the uncommitted changes of this repository: staged, unstaged and untracked files.";
    case "baseBranch":
      return `Review what this branch changes against \`${target.branch}\`: compare with \`git merge-base HEAD ${target.branch}\`, as a pull request does.`;
    case "commit":
      return `Review what the commit \`${target.sha}\` changes${target.title === undefined ? "" : ` (${oneLine(target.title, LONGEST)})`}.`;
    case "custom":
      return target.instructions;
  }
}
