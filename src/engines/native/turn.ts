// Long because a turn asks its model and reads the answer in one file.
import { randomUUID } from "node:crypto";
import { assertNever } from "../../lib/assertNever.js";
import { waitFor } from "../../lib/promises.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ReviewTarget, ThreadEvent, TurnInput } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { AnswerCalls, TurnStopped } from "./answerCalls.js";
import { compact, hasPast } from "./compact.js";
import type { Conversation } from "./conversation.js";
import { TURN_ABORTED } from "./instructions.js";
import { type ModelEvent, ModelFailure, RetryBudget, waitForRetry } from "./model/client.js";
import { filledIn, shownItem, type ToolCall, toolCallOf, toolOutput, unansweredCalls } from "./model/items.js";
import { recordedItem } from "./model/recordedItems.js";
import { withLateEvents } from "./tools/lateEvents.js";

/** One turn of any kind. The last event is the turn's end. */
export async function* runTurn(conversation: Conversation, input: TurnInput, ctx: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
  const { signal } = ctx;
  const { threadTools } = conversation.parts;
  threadTools.beginTurn(ctx, { changesFiles: input.work?.kind !== "review" });
  try {
    const working = work(conversation, input, ctx);
    const lastMessage = yield* threadTools.lateEvents ? withLateEvents(working, threadTools.lateEvents) : working;
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

/** A turn up to its end; returns the final message. */
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
    return yield* answerUntilDone(conversation, ctx, [conversation.turnStarted(), ...conversation.addUserMessage(text, images)]);
  } finally {
    conversation.steering.close();
  }
}

const NOTHING_YET = "There is nothing to summarise: this thread has no messages yet.";

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
 * The model responds and calls tools until there are no more calls and no more user messages; its last message is the result. `opening`:
 * events that are published first, in one batch with the following ones. Throws `ModelFailure`, `TurnStopped`, or the signal's reason.
 */
async function* answerUntilDone(conversation: Conversation, ctx: TurnContext, opening: readonly ThreadEvent[] = []): Work {
  const { steering, settings, parts } = conversation;
  let lastMessage: string | null = null;
  let unpublished = opening;
  for (;;) {
    const steered = steering.take().flatMap((text) => conversation.addUserMessage(text));
    yield [...unpublished, ...steered, { type: "turnContext", settings, sandboxBackend: parts.sandboxBackend }];
    unpublished = [];
    // A client may have sent further input in response to those events.
    for (const text of steering.take()) yield conversation.addUserMessage(text);
    const answer = yield* sample(conversation, ctx);
    lastMessage = answer.lastMessage ?? (settings.asRecorded ? null : lastMessage);
    if (answer.calls) yield* answer.calls.carryOutRest();
    parts.threadTools.callsEnded();
    const diff = await turnDiff(conversation);
    const shown = [...(diff ? [diff] : []), ...(answer.calls?.following() ?? [])];
    if (shown.length > 0) yield shown;
    if (!answer.calls && steering.closeIfNothingWaits()) return lastMessage;
    if (conversation.needsCompaction) yield* compact(conversation, ctx.signal);
  }
}

/** The diff so far, after each response of a turn that changed files by patches. */
async function turnDiff(conversation: Conversation): Promise<ThreadEvent | undefined> {
  const unifiedDiff = await conversation.parts.threadTools.turnDiff();
  return unifiedDiff === undefined ? undefined : { type: "turnDiff", unifiedDiff };
}

/** Every call gets an output, because the next request would be refused otherwise; and the model learns that it was stopped. */
function aborted(conversation: Conversation): ThreadEvent[] {
  const outputs = unansweredCalls(conversation.history.items()).map((call) => conversation.remember(toolOutput(call, "aborted by user")));
  return [...outputs, conversation.rememberUnseen(TURN_ABORTED), { type: "turnAborted", reason: "interrupted" }];
}

function failed(conversation: Conversation, { message, advice, info, status }: ModelFailure): ThreadEvent[] {
  const said = advice === undefined || conversation.settings.asRecorded ? message : `${message.trimEnd()}\n${advice}`;
  const end: ThreadEvent = { type: "turnFailed", message: said, info };
  // An exhausted quota reports no limits; a plan's limit does, with the refused request.
  const tellsUsage = (info === "usage_limit_exceeded" && status !== undefined) || info === "context_window_exceeded";
  return tellsUsage ? [conversation.tokenCount(), end] : [end];
}

/** If the model is silent for this long after a complete call, the call runs before the end of the response. */
const CALL_PATIENCE_MS = 30;

/** The result of one model response. */
interface Answer {
  /** Absent if the model called no tool. */
  readonly calls: AnswerCalls | undefined;
  readonly lastMessage: string | undefined;
}

/**
 * Sends the conversation to the model, with retries where they may help; each retry is announced. A response that broke off is requested
 * again with the same request: its messages and calls stay in the conversation, but the model sees them only with the next request. Throws
 * `ModelFailure`.
 */
export async function* sample(conversation: Conversation, ctx: TurnContext): AsyncGenerator<readonly ThreadEvent[], Answer> {
  const { signal } = ctx;
  const template = await conversation.template(signal);
  const news = conversation.parts.threadTools.news();
  if (news.length > 0) yield news;
  let body = template.body(conversation.history);
  let budget: RetryBudget | undefined;
  for (;;) {
    const reader = new AnswerReader(conversation, ctx);
    try {
      signal.throwIfAborted();
      yield* readAnswer(conversation, { body, reader, signal });
      return { calls: reader.calls, lastMessage: reader.lastMessage };
    } catch (failure) {
      if (!(failure instanceof ModelFailure)) throw failure;
      const error = conversation.settings.asRecorded ? failure.asRecorded() : failure;
      conversation.noteRateLimits(error.rateLimits);
      if (error.info === "context_window_exceeded") conversation.noteFull();
      const given = reader.calls?.giveUp() ?? [];
      if (given.length > 0) yield given;
      const withOther = await conversation.afterRefusedModel(error, signal);
      if (withOther) {
        yield withOther;
        body = (await conversation.template(signal)).body(conversation.history);
        continue;
      }
      // Codex 0.92.0 did not retry a rate-limited request.
      if (conversation.settings.asRecorded && error.retry === "requestOnly") throw error;
      budget ??= new RetryBudget(conversation.settings.provider);
      yield* waitForRetry(budget, error, signal);
    }
  }
}

/** One request, and its response up to the end. */
async function* readAnswer(
  conversation: Conversation,
  { body, reader, signal }: { readonly body: string; readonly reader: AnswerReader; readonly signal: AbortSignal },
): AsyncGenerator<readonly ThreadEvent[], void> {
  // A running call may end the turn while the response is still awaited.
  const left = new AbortController();
  const leave = () => left.abort(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  const stream = conversation.parts.client.stream({ body }, left.signal)[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = stream.next();
      const { calls } = reader;
      if (calls && calls.waiting.length > 0) {
        // Awaited below; a failure meanwhile must not count as unhandled.
        next.catch(() => undefined);
        if ((await waitFor(next, { ms: CALL_PATIENCE_MS, signal })).at === "late") yield* calls.carryOutEarly();
      }
      const { done = false, value } = await next;
      ended = done;
      if (done) return;
      yield reader.take(value);
    }
  } finally {
    signal.removeEventListener("abort", leave);
    if (!ended) left.abort(new Error("the response is no longer needed"));
  }
}

/** A part of an item that is still streamed. */
type ItemPart = Extract<ModelEvent, { type: "textDelta" | "summaryDelta" | "reasoningTextDelta" | "summaryPartAdded" }>;

/** Turns the events of one response into thread events, and adds its items to the history. */
class AnswerReader {
  readonly #conversation: Conversation;
  readonly #started = new Set<string>();
  readonly #ctx: TurnContext;
  #calls: AnswerCalls | undefined;
  #lastMessage: string | undefined;
  #itemId = "";
  /** The item that has started and not ended. */
  #open: { readonly id: string; readonly isNamedByUs: boolean } | undefined;

  constructor(conversation: Conversation, ctx: TurnContext) {
    this.#conversation = conversation;
    this.#ctx = ctx;
  }

  get calls(): AnswerCalls | undefined {
    return this.#calls;
  }

  get lastMessage(): string | undefined {
    return this.#lastMessage;
  }

  take(batch: readonly ModelEvent[]): ThreadEvent[] {
    const events: ThreadEvent[] = [];
    for (const event of batch) this.#takeOne(event, events);
    return events;
  }

  #takeOne(event: ModelEvent, out: ThreadEvent[]): void {
    switch (event.type) {
      case "textDelta":
      case "summaryDelta":
      case "reasoningTextDelta":
      case "summaryPartAdded":
        this.#takePart(event, out);
        return;
      case "accepted":
        this.#conversation.noteAccepted(event.rateLimits);
        out.push(this.#conversation.tokenCount());
        return;
      case "itemAdded":
      case "itemDone": {
        const item = this.#conversation.settings.asRecorded ? recordedItem(event.item) : event.item;
        if (item && event.type === "itemAdded") this.#start(item, out);
        else if (item) this.#finish(item, out);
        return;
      }
      case "completed":
        if (event.usage) this.#conversation.noteUsage(event.usage);
        out.push(this.#conversation.tokenCount());
        return;
      default:
        return assertNever(event);
    }
  }

  /** Codex attributes a part to the open item, whatever id the part has, and drops it if no item is open. */
  #takePart(event: ItemPart, out: ThreadEvent[]): void {
    const { asRecorded } = this.#conversation.settings;
    if (asRecorded && !this.#open) return;
    const itemId = this.#open && (asRecorded || event.itemId === "") ? this.#open.id : event.itemId;
    switch (event.type) {
      case "textDelta":
        // The log keeps every delta, so the deltas of an item share its id string.
        if (itemId !== this.#itemId) this.#itemId = itemId;
        out.push({ type: "messageDelta", itemId: this.#itemId, delta: event.delta });
        return;
      case "summaryDelta":
        out.push({ type: "reasoningDelta", itemId, summaryIndex: event.summaryIndex, delta: event.delta });
        return;
      case "reasoningTextDelta":
        out.push({ type: "rawReasoningDelta", itemId, contentIndex: event.contentIndex, delta: event.delta });
        return;
      case "summaryPartAdded":
        out.push({ type: "reasoningSectionBreak", itemId, summaryIndex: event.summaryIndex });
    }
  }

  #start(raw: RawItem, out: ThreadEvent[]): void {
    const item = this.#shown(raw);
    if (!item || this.#started.has(item.id)) return;
    this.#started.add(item.id);
    this.#open = { id: item.id, isNamedByUs: isUnnamed(raw) };
    out.push({ type: "itemStarted", item });
  }

  #finish(raw: RawItem, out: ThreadEvent[]): void {
    // Some providers only send complete items; readers still see each one begin.
    this.#start(raw, out);
    const item = this.#shown(raw);
    if (item) out.push({ type: "itemCompleted", item });
    if (item) this.#open = undefined;
    // Some providers send no ids, so the next item may have the same empty id.
    if (item) this.#started.delete(item.id);
    if (item?.kind === "agentMessage") this.#lastMessage = this.#answerIn(item.texts) ?? this.#lastMessage;
    const call = toolCallOf(raw);
    if (call) this.#addCall(call);
    out.push(this.#conversation.remember(filledIn(raw)));
  }

  #addCall(call: ToolCall): void {
    this.#calls ??= new AnswerCalls(this.#conversation, this.#ctx);
    this.#calls.add(call);
  }

  #answerIn(texts: readonly string[]): string | undefined {
    return this.#conversation.settings.asRecorded ? texts.at(-1) : texts.join("") || undefined;
  }

  #shown(raw: RawItem) {
    const named = isUnnamed(raw) ? { ...raw, id: this.#idOfUnnamed() } : raw;
    return shownItem(named, { showRawReasoning: this.#conversation.settings.showRawAgentReasoning });
  }

  /** Some providers send no ids, but readers must be able to distinguish messages. */
  #idOfUnnamed(): string {
    return this.#open?.isNamedByUs ? this.#open.id : randomUUID();
  }
}

function isUnnamed({ type, id }: RawItem): boolean {
  return type === "message" && typeof id !== "string";
}
