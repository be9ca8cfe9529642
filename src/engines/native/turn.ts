import { abortedAnswer } from "../../exec/output.js";
import { assertNever } from "../../lib/assertNever.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ReviewTarget, ThreadEvent, TurnInput } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { compact, hasPast } from "./compact.js";
import type { Conversation } from "./conversation.js";
import { TURN_ABORTED } from "./instructions.js";
import { type ModelEvent, ModelFailure, RetryBudget, waitForRetry } from "./model/client.js";
import { shownItem, type ToolCall, toolCallOf, toolOutput, unansweredCalls } from "./model/items.js";
import type { ToolResult } from "./tools/tool.js";

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

function work(conversation: Conversation, { text, work: asked }: TurnInput, ctx: TurnContext): Work {
  switch (asked?.kind) {
    case undefined:
      return answerTo(text, conversation, ctx);
    case "compact":
      return summarise(conversation, ctx);
    case "review":
      return reviewWith(conversation, asked.target, ctx);
  }
}

async function* answerTo(text: string, conversation: Conversation, ctx: TurnContext): Work {
  conversation.steering.open(ctx.signal);
  try {
    if (conversation.needsCompaction) yield* compact(conversation, ctx.signal);
    yield [conversation.turnStarted(), ...conversation.hear(text)];
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
    const answer = yield* sample(conversation, ctx.signal);
    lastMessage = answer.lastMessage ?? lastMessage;
    for (const call of answer.calls) yield* carryOut(conversation, call, ctx);
    parts.threadTools.callsEnded();
    yield turnDiff(conversation);
    if (answer.calls.length === 0 && steering.closeIfNothingWaits()) return lastMessage;
    if (conversation.needsCompaction) yield* compact(conversation, ctx.signal);
  }
}

/** Somebody who was asked decided that the turn ends here. */
class TurnStopped extends Error {}

async function* carryOut(conversation: Conversation, call: ToolCall, { signal, ask }: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
  signal.throwIfAborted();
  const tool = await conversation.parts.threadTools.find(call.name, { signal });
  const remember = (item: RawItem) => conversation.remember(item);
  const startedAt = performance.now();
  let result: ToolResult;
  try {
    result = tool ? yield* tool.run(call.args, { callId: call.callId, signal, ask, remember }) : { output: unsupported(call) };
  } catch (error) {
    if (signal.aborted) yield [remember(toolOutput(call, abortedAnswer(performance.now() - startedAt)))];
    throw error;
  }
  yield [remember(toolOutput(call, result.output)), ...(result.after ?? []).map(remember)];
  if (result.endsTurn) throw new TurnStopped();
}

/** After each answer of a turn that changed files, everything it changed so far. */
function turnDiff(conversation: Conversation): ThreadEvent[] {
  const unifiedDiff = conversation.parts.threadTools.turnDiff();
  return unifiedDiff === undefined ? [] : [{ type: "turnDiff", unifiedDiff }];
}

function unsupported(call: ToolCall): string {
  return call.outputType === "custom_tool_call_output" ? `unsupported custom tool call: ${call.name}` : `unsupported call: ${call.name}`;
}

/** Every call gets an output, or the next request would be refused; and the model learns that it was stopped. */
function aborted(conversation: Conversation): ThreadEvent[] {
  const outputs = unansweredCalls(conversation.history.items()).map((call) => conversation.remember(toolOutput(call, "aborted by user")));
  return [...outputs, unseen(conversation, TURN_ABORTED), { type: "turnAborted", reason: "interrupted" }];
}

function unseen(conversation: Conversation, item: RawItem): ThreadEvent {
  conversation.history.append([item]);
  return { type: "unseenItem", item };
}

function failed(conversation: Conversation, { message, advice, info }: ModelFailure): ThreadEvent[] {
  const said = advice === undefined || conversation.settings.asRecorded ? message : `${message.trimEnd()}\n${advice}`;
  const end: ThreadEvent = { type: "turnFailed", message: said, info };
  const tellsUsage = info === "usage_limit_exceeded" || info === "context_window_exceeded";
  return tellsUsage ? [conversation.tokenCount(), end] : [end];
}

/** What one model answer came to. */
interface Answer {
  readonly calls: readonly ToolCall[];
  readonly lastMessage: string | undefined;
}

/** Asks the model with the conversation as it is, again where that may help; each retry is announced. Throws `ModelFailure`. */
export async function* sample(conversation: Conversation, signal: AbortSignal): AsyncGenerator<readonly ThreadEvent[], Answer> {
  const { client, threadTools } = conversation.parts;
  await conversation.template(signal);
  const news = threadTools.news();
  if (news.length > 0) yield news;
  let budget: RetryBudget | undefined;
  for (;;) {
    const reader = new AnswerReader(conversation);
    try {
      signal.throwIfAborted();
      const template = await conversation.template(signal);
      for await (const batch of client.stream({ body: template.body(conversation.history) }, signal)) yield reader.take(batch);
      return reader.answer;
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      conversation.noteRateLimits(error.rateLimits);
      if (error.info === "context_window_exceeded") conversation.noteFull();
      // Calls that arrived whole can be carried out; the next request then goes on from their results.
      if (reader.answer.calls.length > 0) return reader.answer;
      const withOther = await conversation.afterRefusedModel(error, signal);
      if (withOther) {
        yield withOther;
        continue;
      }
      budget ??= new RetryBudget(conversation.settings.provider);
      yield* waitForRetry(budget, error, signal);
    }
  }
}

/** Turns the events of one answer into thread events, and remembers its items. */
class AnswerReader {
  readonly #conversation: Conversation;
  readonly #started = new Set<string>();
  readonly #calls: ToolCall[] = [];
  #lastMessage: string | undefined;
  #itemId = "";

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  get answer(): Answer {
    return { calls: this.#calls, lastMessage: this.#lastMessage };
  }

  take(batch: readonly ModelEvent[]): ThreadEvent[] {
    const events: ThreadEvent[] = [];
    for (const event of batch) this.#takeOne(event, events);
    return events;
  }

  #takeOne(event: ModelEvent, out: ThreadEvent[]): void {
    switch (event.type) {
      case "textDelta":
        // The log keeps every delta: they share the text of their item's id.
        if (event.itemId !== this.#itemId) this.#itemId = event.itemId;
        out.push({ type: "messageDelta", itemId: this.#itemId, delta: event.delta });
        return;
      case "summaryDelta":
        out.push({ type: "reasoningDelta", itemId: event.itemId, summaryIndex: event.summaryIndex, delta: event.delta });
        return;
      case "reasoningTextDelta":
        if (this.#conversation.settings.showRawAgentReasoning)
          out.push({ type: "rawReasoningDelta", itemId: event.itemId, contentIndex: event.contentIndex, delta: event.delta });
        return;
      case "summaryPartAdded":
        out.push({ type: "reasoningSectionBreak", itemId: event.itemId, summaryIndex: event.summaryIndex });
        return;
      case "accepted":
        this.#conversation.noteRateLimits(event.rateLimits);
        out.push(this.#conversation.tokenCount());
        return;
      case "itemAdded":
        return this.#start(event.item, out);
      case "itemDone":
        return this.#finish(event.item, out);
      case "completed":
        if (event.usage) this.#conversation.noteUsage(event.usage);
        out.push(this.#conversation.tokenCount());
        return;
      default:
        return assertNever(event);
    }
  }

  #start(raw: RawItem, out: ThreadEvent[]): void {
    const item = this.#shown(raw);
    if (!item || this.#started.has(item.id)) return;
    this.#started.add(item.id);
    out.push({ type: "itemStarted", item });
  }

  #finish(raw: RawItem, out: ThreadEvent[]): void {
    // Some providers only send whole items; a reader still sees each one begin.
    this.#start(raw, out);
    const item = this.#shown(raw);
    if (item) out.push({ type: "itemCompleted", item });
    // Some providers give no ids: the next item may have the same, none.
    if (item) this.#started.delete(item.id);
    if (item?.kind === "agentMessage") this.#lastMessage = item.texts.join("");
    const call = toolCallOf(raw);
    if (call) this.#calls.push(call);
    out.push(this.#conversation.remember(raw));
  }

  #shown(raw: RawItem) {
    return shownItem(raw, { showRawReasoning: this.#conversation.settings.showRawAgentReasoning });
  }
}
