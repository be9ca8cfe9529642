import { oneLine } from "../../lib/oneLine.js";
import type { ReviewTarget } from "../../threads/events.js";

const LONGEST_HINT = 80;

/** What is reviewed, in a few words that fit into a line. */
export function reviewHint(target: ReviewTarget): string {
  switch (target.type) {
    case "uncommittedChanges":
      return "the uncommitted changes";
    case "baseBranch":
      return `the changes against ${oneLine(target.branch, LONGEST_HINT)}`;
    case "commit":
      return oneLine(`commit ${target.sha.slice(0, 12)}${target.title ? `: ${target.title}` : ""}`, LONGEST_HINT);
    case "custom":
      return oneLine(target.instructions, LONGEST_HINT);
  }
}

/** Everything a reviewer is told. */
export function reviewPrompt(target: ReviewTarget): string {
  return `${HOW_TO_REVIEW}\n\n# What to review\n${taskOf(target)}`;
}

function taskOf(target: ReviewTarget): string {
  switch (target.type) {
    case "uncommittedChanges":
      return "Everything that is not committed: what is staged, what is not, and new files that git does not track yet. `git status --porcelain --untracked-files=all` lists them and `git diff HEAD` shows the changes; read untracked files whole, since no diff has them.";
    case "baseBranch":
      return `Everything that was done since this work left \`${target.branch}\`. Find where that was with \`git merge-base HEAD ${target.branch}\` (if its remote branch is ahead of it, use that one), then look at \`git diff\` against that commit. What \`${target.branch}\` got meanwhile is not part of it.`;
    case "commit":
      return `What commit \`${target.sha}\`${target.title ? ` (${target.title})` : ""} changed: \`git show ${target.sha}\`. Later commits may have gone on from there; judge this one, and say so where a later one already mended what you found.`;
    case "custom":
      return target.instructions;
  }
}

const HOW_TO_REVIEW = `Review a change that somebody else made. Look and report: change no files, commit nothing.

# How to look
- See the change yourself, with git through your shell tool. Use commands that only read, without a pager.
- Read the code around each change until you know what it does and who depends on it. Where a short check settles a doubt (a search, a test that is already there), make it.
- Hold the change to its purpose and to the project's own rules, AGENTS.md among them.

# What counts
- Problems that this change brings: wrong results, crashes, lost data, races, leaks, security holes, broken callers, cases that can happen and are not handled, tests that no longer test. You can name the situation that shows it.
- Not what was there before, not taste, not guesses you could have checked.

# How to report
- Begin with the verdict in one line: whether the change can stay as it is, and why.
- Then the findings, worst first, each one as \`[high]\`, \`[medium]\` or \`[low]\`, the place as \`path/to/file:line\`, and one sentence with what is wrong; below it when it happens and what would mend it, in a few lines.
- Nothing to report is a good result: say so in one sentence, and what you looked at.
- Say what you could not look at.`;
