import type { TurnContext } from "../../threads/engine.js";
import type { ReviewTarget, ThreadEvent, TurnInput } from "../../threads/events.js";
import { sample } from "./answer.js";
import { TurnStopped } from "./answerCalls.js";
import { compact, hasPast } from "./compact.js";
import type { Conversation } from "./conversation.js";
import { TURN_ABORTED } from "./instructions.js";
import { ModelFailure } from "./model/client.js";
import { toolOutput, unansweredCalls } from "./model/items.js";

/** One turn, whatever is asked of it. The last event is the turn's end. */
export async function* runTurn(conversation: Conversation, input: TurnInput, ctx: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
  const { signal } = ctx;
  const { threadTools } = conversation.parts;
  threadTools.beginTurn(ctx, { changesFiles: input.work?.kind !== "review" });
  try {
    const lastMessage = yield* work(conversation, input, ctx);
    signal.throwIfAborted();
    const leftBehind = await threadTools.leftBehind();
    if (leftBehind.length > 0) yield leftBehind;
    yield [{ type: "turnCompleted", lastMessage }];
  } catch (error) {
    if (signal.aborted || error instanceof TurnStopped) yield [...(await threadTools.leftBehind()), ...aborted(conversation)];
    else if (error instanceof ModelFailure) yield failed(conversation, error);
    else throw error;
  } finally {
    threadTools.endTurn();
  }
}

/** A turn up to its end, with the message it ends with. */
type Work = AsyncGenerator<readonly ThreadEvent[], string | null>;

function work(conversation: Conversation, input: TurnInput, ctx: TurnContext): Work {
  const { work: asked } = input;
  switch (asked?.kind) {
    case undefined:
      return answerTo(input, conversation, ctx);
    case "compact":
      return summarise(conversation, ctx);
    case "review":
      return reviewWith(conversation, asked.target, ctx);
  }
}

async function* answerTo({ text, images }: TurnInput, conversation: Conversation, ctx: TurnContext): Work {
  conversation.steering.open(ctx.signal);
  try {
    if (conversation.needsCompaction) yield* compact(conversation, ctx.signal);
    yield [conversation.turnStarted(), ...conversation.hear(text, images)];
    return yield* answerUntilDone(conversation, ctx);
  } finally {
    conversation.steering.close();
  }
}

const NOTHING_YET = "There is nothing to summarise: nobody has said anything on this thread yet.";

async function* summarise(conversation: Conversation, { signal }: TurnContext): Work {
  yield [conversation.turnStarted()];
  if (!hasPast(conversation)) return NOTHING_YET;
  yield* compact(conversation, signal);
  return null;
}

async function* reviewWith(conversation: Conversation, target: ReviewTarget, ctx: TurnContext): Work {
  const { review } = await import("./review.js");
  return yield* review(conversation, target, { signal: ctx.signal, run: (reviewer) => answerUntilDone(reviewer, ctx) });
}

/**
 * The model answers and calls tools until it has nothing more to call and nobody had more to say; its last message is the result.
 * Throws `ModelFailure`, `TurnStopped`, or the signal's reason.
 */
async function* answerUntilDone(conversation: Conversation, ctx: TurnContext): Work {
  const { steering, settings, parts } = conversation;
  let lastMessage: string | null = null;
  for (;;) {
    for (const text of steering.take()) yield conversation.hear(text);
    yield [{ type: "turnContext", settings, sandboxBackend: parts.sandboxBackend }];
    const answer = yield* sample(conversation, ctx);
    lastMessage = answer.lastMessage ?? lastMessage;
    yield* answer.calls.carryOutRest();
    parts.threadTools.callsEnded();
    yield await turnDiff(conversation);
    if (answer.calls.isEmpty && steering.closeIfNothingWaits()) return lastMessage;
    if (conversation.needsCompaction) yield* compact(conversation, ctx.signal);
  }
}

/** After each answer of a turn that changed files by patches, what became of them so far. */
async function turnDiff(conversation: Conversation): Promise<ThreadEvent[]> {
  const unifiedDiff = await conversation.parts.threadTools.turnDiff();
  return unifiedDiff === undefined ? [] : [{ type: "turnDiff", unifiedDiff }];
}

/** Every call gets an output, or the next request would be refused; and the model learns that it was stopped. */
function aborted(conversation: Conversation): ThreadEvent[] {
  const outputs = unansweredCalls(conversation.history.items()).map((call) => conversation.remember(toolOutput(call, "aborted by user")));
  return [...outputs, conversation.rememberUnseen(TURN_ABORTED), { type: "turnAborted", reason: "interrupted" }];
}

function failed(conversation: Conversation, { message, advice, info, status }: ModelFailure): ThreadEvent[] {
  const said = advice === undefined || conversation.settings.asRecorded ? message : `${message.trimEnd()}\n${advice}`;
  const end: ThreadEvent = { type: "turnFailed", message: said, info };
  // A quota that is used up says nothing of limits; one of a plan does, by refusing the request.
  const tellsUsage = (info === "usage_limit_exceeded" && status !== undefined) || info === "context_window_exceeded";
  return tellsUsage ? [conversation.tokenCount(), end] : [end];
}
