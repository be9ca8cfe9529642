import { oneLine } from "../../lib/oneLine.js";
import type { ReviewTarget, ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { REVIEW_REQUEST } from "../../threads/reviewFindings.js";
import type { Conversation } from "./conversation.js";

/** Runs a turn that ends with the reviewer's verdict. */
interface Deliberation {
  readonly run: (reviewer: Conversation) => AsyncIterable<readonly ThreadEvent[]>;
  readonly signal: AbortSignal;
}

const NO_VERDICT = "The reviewer did not give a verdict.";

/**
 * A review in a separate conversation, which shares the thread's beginning. The thread records the request and the result, so that a reply
 * can refer to it; the reviewer's steps are shown but not kept.
 */
export async function* review(
  conversation: Conversation,
  target: ReviewTarget,
  deliberation: Deliberation,
): AsyncGenerator<readonly ThreadEvent[], string> {
  const hint = reviewHint(target);
  const request = conversation.addUserMessage(`${REVIEW_REQUEST}${hint}`);
  yield [conversation.turnStarted(), ...request, { type: "reviewStarted", target, hint }];
  try {
    const text = yield* deliberate(conversation, reviewPrompt(target), deliberation);
    yield [conversation.tokenCount(), conversation.remember(spoken(text)), { type: "reviewEnded", text }];
    return text;
  } catch (error) {
    yield [conversation.tokenCount(), { type: "reviewEnded", text: null }];
    throw error;
  }
}

async function* deliberate(
  conversation: Conversation,
  prompt: string,
  { run, signal }: Deliberation,
): AsyncGenerator<readonly ThreadEvent[], string> {
  const reviewer = conversation.aside(prompt);
  let verdict: string | undefined;
  try {
    for await (const batch of run(reviewer)) {
      verdict = lastMessageIn(batch) ?? verdict;
      yield batch.filter(isShown);
    }
    signal.throwIfAborted();
    return verdict ?? NO_VERDICT;
  } finally {
    conversation.addCostOf(reviewer);
  }
}

/** The reviewer's messages are shown once, as its verdict; the content of its conversation is not the thread's. */
function isShown(event: ThreadEvent): boolean {
  switch (event.type) {
    case "rawItem":
    case "messageDelta":
    case "historyCompacted":
    case "warning":
      return false;
    case "itemStarted":
    case "itemCompleted":
      return event.item.kind !== "agentMessage";
    default:
      return true;
  }
}

function lastMessageIn(batch: readonly ThreadEvent[]): string | undefined {
  for (const event of batch.toReversed())
    if (event.type === "itemCompleted" && event.item.kind === "agentMessage") return event.item.texts.join("").trim() || undefined;
  return undefined;
}

function spoken(text: string): RawItem {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

const LONGEST_HINT = 80;

/** The subject of the review in a few words on one line. */
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

/** The complete prompt of a reviewer. */
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
      return `What commit \`${target.sha}\`${target.title ? ` (${target.title})` : ""} changed: \`git show ${target.sha}\`. Later commits may have gone on from there; judge this one, and say so where a later one already fixed what you found.`;
    case "custom":
      return target.instructions;
  }
}

const HOW_TO_REVIEW = `Review a change that someone else made. Look and report: change no files, commit nothing.

# How to look
- See the change yourself, with git through your shell tool. Use commands that only read, without a pager.
- Read the code around each change until you know what it does and who depends on it. Where a short check settles a doubt (a search, a test that is already there), make it.
- Hold the change to its purpose and to the project's own rules, AGENTS.md among them.

# What counts
- Problems that this change brings: wrong results, crashes, lost data, races, leaks, security holes, broken callers, cases that can happen and are not handled, tests that no longer test. You can name the situation that shows it.
- Not what was there before, not taste, not guesses you could have checked.

# How to report
- Begin with the verdict in one line: whether the change can stay as it is, and why.
- Then the findings, worst first, each as one line \`- [P1] What is wrong — path/to/file:FIRST-LAST (confidence 0.8)\`: [P0] stops everything, [P1] must be fixed now, [P2] some time, [P3] is a detail; the lines are those that it is about, as few as show it; the confidence goes from 0 to 1. Below it, indented by two spaces, when it happens and what would fix it, in a few lines.
- Nothing to report is a good result: say so in one sentence, and what you looked at.
- Say what you could not look at.`;
