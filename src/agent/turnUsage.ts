import type { ModelPrice } from "../config/resolve.js";
import type { ThreadEvent } from "../threads/events.js";
import { addUsage, NO_USAGE, type TokenUsage, type TokenUsageInfo } from "../threads/usage.js";

/**
 * Sums the usage of a turn's requests. Engines report the thread's total and the last request. A report that comes before the model has
 * answered belongs to an earlier turn; if it is empty, the thread had used nothing before.
 */
export class UsageOfTurn {
  #hasAnswered = false;
  /** The total of the report before. */
  #usedBefore: TokenUsage | undefined;
  #latest: TokenUsageInfo | undefined;
  #reports = 0;
  #turn: TokenUsage | undefined;

  observe(event: ThreadEvent): void {
    switch (event.type) {
      case "messageDelta":
      case "reasoningDelta":
      case "rawReasoningDelta":
      case "historyCompacted":
      // A reviewer's answer is reported once, at its end; its requests are counted before.
      case "reviewStarted":
      case "reviewEnded":
      case "commandStarted":
      case "patchStarted":
      case "mcpToolStarted":
        this.#hasAnswered = true;
        return;
      // User messages are reported as items too.
      case "rawItem":
        this.#hasAnswered ||= event.item.type !== "message" || event.item["role"] === "assistant";
        return;
      case "itemCompleted":
        this.#hasAnswered ||= event.item.kind !== "userMessage";
        return;
      case "tokenCount":
        if (event.usage) this.#count(event.usage);
        else this.#usedBefore ??= NO_USAGE;
        return;
      case "turnCompleted":
        // The only report of a turn that the model completed without a word is its own.
        if (this.#reports === 1) this.#turn ??= this.#latest?.last_token_usage;
        return;
      default:
    }
  }

  total(): { readonly turn: TokenUsage; readonly thread: TokenUsage } | undefined {
    if (!this.#latest) return undefined;
    return { turn: this.#turn ?? NO_USAGE, thread: this.#latest.total_token_usage };
  }

  #count(usage: TokenUsageInfo): void {
    const before = this.#usedBefore;
    this.#latest = usage;
    this.#reports++;
    const { total_token_usage: total, last_token_usage: last } = usage;
    this.#usedBefore = total;
    if (before) this.#turn = addUsage(this.#turn ?? NO_USAGE, difference(total, before));
    else if (this.#hasAnswered) this.#turn = last;
  }
}

const MILLION = 1_000_000;

/** The cost of tokens in US dollars. Cached tokens are part of the input tokens. */
export function costOf({ input_tokens, cached_input_tokens, output_tokens }: TokenUsage, price: ModelPrice): number {
  const fresh = Math.max(input_tokens - cached_input_tokens, 0);
  return (fresh * price.input + cached_input_tokens * price.cachedInput + output_tokens * price.output) / MILLION;
}

function difference(one: TokenUsage, other: TokenUsage): TokenUsage {
  const beyond = (a: number, b: number) => Math.max(a - b, 0);
  return {
    input_tokens: beyond(one.input_tokens, other.input_tokens),
    cached_input_tokens: beyond(one.cached_input_tokens, other.cached_input_tokens),
    output_tokens: beyond(one.output_tokens, other.output_tokens),
    reasoning_output_tokens: beyond(one.reasoning_output_tokens, other.reasoning_output_tokens),
    total_tokens: beyond(one.total_tokens, other.total_tokens),
  };
}
