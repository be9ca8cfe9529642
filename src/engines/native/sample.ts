import { assertNever } from "../../lib/assertNever.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { Conversation } from "./conversation.js";
import { type ModelEvent, ModelFailure, RetryBudget, waitForRetry } from "./model/client.js";
import { shownItem, type ToolCall, toolCallOf } from "./model/items.js";

/** What one model answer came to. */
interface Answer {
  readonly calls: readonly ToolCall[];
  readonly lastMessage: string | undefined;
}

/** Asks the model with the conversation as it is, again where that may help; each retry is announced. Throws `ModelFailure`. */
export async function* sample(conversation: Conversation, signal: AbortSignal): AsyncGenerator<readonly ThreadEvent[], Answer> {
  const { client, threadTools } = conversation.parts;
  const template = await conversation.template(signal);
  const news = threadTools.news();
  if (news.length > 0) yield news;
  let budget: RetryBudget | undefined;
  for (;;) {
    const reader = new AnswerReader(conversation);
    try {
      signal.throwIfAborted();
      for await (const batch of client.stream({ body: template.body(conversation.history) }, signal)) yield reader.take(batch);
      return reader.answer;
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      conversation.noteRateLimits(error.rateLimits);
      if (error.info === "context_window_exceeded") conversation.noteFull();
      // Calls that arrived whole can be carried out; the next request then goes on from their results.
      if (reader.answer.calls.length > 0) return reader.answer;
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
