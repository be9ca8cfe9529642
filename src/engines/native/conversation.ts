import { randomUUID } from "node:crypto";
import type { ThreadId } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Item, RawItem } from "../../threads/items.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { RateLimits, TokenUsage, TokenUsageInfo } from "../../threads/usage.js";
import { History, message } from "./history.js";
import type { ModelClient } from "./model/client.js";
import { NO_RATE_LIMITS } from "./model/rateLimits.js";
import { usableWindow } from "./models.js";
import { RequestTemplate } from "./request.js";
import { Steering } from "./steering.js";
import type { Declaration } from "./tools/tool.js";
import type { Toolbox } from "./tools/toolbox.js";

const NO_USAGE: TokenUsage = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0, total_tokens: 0 };

export interface ConversationParts {
  readonly threadId: ThreadId;
  readonly settings: ThreadSettings;
  readonly history: History;
  /** What the conversation begins with, and begins with again after it was summarised. */
  readonly initialContext: readonly RawItem[];
  readonly client: ModelClient;
  readonly toolbox: Toolbox;
  /** What confines its commands. */
  readonly sandboxBackend: string;
  readonly usage: TokenUsageInfo | null;
}

/** What one native thread knows between model requests: its history, and what it has cost so far. */
export class Conversation {
  readonly contextWindow: number | null;
  readonly steering = new Steering();
  #template: { readonly tools: readonly Declaration[]; readonly made: RequestTemplate } | undefined;
  #usage: TokenUsageInfo | null;
  #rateLimits: RateLimits = NO_RATE_LIMITS;

  constructor(readonly parts: ConversationParts) {
    this.contextWindow = usableWindow(parts.settings);
    this.#usage = parts.usage;
  }

  get settings(): ThreadSettings {
    return this.parts.settings;
  }

  get history(): History {
    return this.parts.history;
  }

  /** The request with the tools there are now; made anew only when those changed. */
  async template(signal: AbortSignal): Promise<RequestTemplate> {
    const tools = await this.parts.toolbox.declarations({ signal });
    if (this.#template?.tools !== tools) this.#template = { tools, made: new RequestTemplate({ ...this.parts, tools }) };
    return this.#template.made;
  }

  /** Adds to the history and tells it. */
  remember(item: RawItem): ThreadEvent {
    this.history.append([item]);
    return { type: "rawItem", item };
  }

  /** The user says something. */
  hear(text: string): ThreadEvent[] {
    const item: Item = { kind: "userMessage", id: randomUUID(), text };
    return [this.remember(message("user", text)), { type: "itemStarted", item }, { type: "itemCompleted", item }];
  }

  turnStarted(): ThreadEvent {
    return { type: "turnStarted", contextWindow: this.contextWindow };
  }

  /** A conversation beside this one, which knows nothing of it but how it began; `addCostOf` brings home what it cost. */
  aside(question: string): Conversation {
    const { initialContext } = this.parts;
    const history = new History([...initialContext, message("user", question)]);
    const usage = this.#usage && { ...this.#usage, last_token_usage: NO_USAGE };
    const aside = new Conversation({ ...this.parts, history, usage });
    aside.#rateLimits = this.#rateLimits;
    return aside;
  }

  addCostOf(aside: Conversation): void {
    if (aside.#usage) this.#setUsage(aside.#usage.total_token_usage, this.#usage?.last_token_usage ?? NO_USAGE);
    this.#rateLimits = aside.#rateLimits;
  }

  /** How large the conversation was at the last answer, in tokens. */
  get size(): number {
    return this.#usage?.last_token_usage.total_tokens ?? 0;
  }

  tokenCount(): ThreadEvent {
    return { type: "tokenCount", usage: this.#usage, rateLimits: this.#rateLimits };
  }

  noteRateLimits(limits: RateLimits | undefined): void {
    if (limits) this.#rateLimits = limits;
  }

  /** One more answer was paid for. */
  noteUsage(last: TokenUsage): void {
    this.#setUsage(addUsage(this.#usage?.total_token_usage ?? NO_USAGE, last), last);
  }

  /** Nothing fits any more: counting the window as full makes the next request wait for a summary. */
  noteFull(): void {
    if (this.contextWindow !== null) this.noteSize(this.contextWindow);
  }

  /** The size is known by other means than an answer. */
  noteSize(totalTokens: number): void {
    this.#setUsage(this.#usage?.total_token_usage ?? NO_USAGE, { ...NO_USAGE, total_tokens: totalTokens });
  }

  #setUsage(total: TokenUsage, last: TokenUsage): void {
    this.#usage = { total_token_usage: total, last_token_usage: last, model_context_window: this.contextWindow };
  }
}

function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    reasoning_output_tokens: a.reasoning_output_tokens + b.reasoning_output_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
  };
}
