import type { ReviewTarget, ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { Conversation } from "./conversation.js";
import { reviewHint, reviewPrompt } from "./reviewPrompt.js";

/** How a reviewer gets to its verdict: like any turn. */
export interface Deliberation {
  readonly run: (reviewer: Conversation) => AsyncIterable<readonly ThreadEvent[]>;
  readonly signal: AbortSignal;
}

const NO_VERDICT = "The reviewer ended without a verdict.";

/**
 * A review in a conversation of its own, which begins where the thread began. The thread remembers that it was asked for and
 * what came out, so that a reply can refer to it; how the reviewer got there is shown and forgotten.
 */
export async function* review(
  conversation: Conversation,
  target: ReviewTarget,
  deliberation: Deliberation,
): AsyncGenerator<readonly ThreadEvent[], string> {
  const hint = reviewHint(target);
  const request = conversation.hear(`Review: ${hint}`);
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

/** What the reviewer says is told once, as its verdict; what its conversation holds is not the thread's. */
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
