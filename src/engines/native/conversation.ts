import { randomUUID } from "node:crypto";
import type { ThreadId } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Item, RawItem } from "../../threads/items.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { addUsage, NO_RATE_LIMITS, NO_USAGE, type RateLimits, type TokenUsage, type TokenUsageInfo } from "../../threads/usage.js";
import { BASE_INSTRUCTIONS } from "./instructions.js";
import type { ModelClient, ModelFailure } from "./model/client.js";
import { History, message } from "./model/items.js";
import type { ModelChoice } from "./model/modelChoice.js";
import { compactionLimit, effortOnTheWire, traitsOf, usableWindow } from "./model/modelTraits.js";
import type { ThreadTools } from "./threadTools.js";
import type { Declaration } from "./tools/tool.js";

export interface ConversationParts {
  readonly threadId: ThreadId;
  readonly settings: ThreadSettings;
  readonly history: History;
  /** The beginning of the conversation, even after it was summarised. */
  readonly initialContext: readonly RawItem[];
  readonly client: ModelClient;
  readonly threadTools: ThreadTools;
  /** The sandbox of its commands. */
  readonly sandboxBackend: string;
  /** Finds a replacement for a model that is not offered. Absent: there is none. */
  readonly models?: () => Promise<Pick<ModelChoice, "afterRefusal">>;
  readonly usage: TokenUsageInfo | null;
}

/** The state of one native thread between model requests: its history and its token usage. */
export class Conversation {
  readonly steering = new Steering();
  #settings: ThreadSettings;
  #template: { readonly tools: readonly Declaration[]; readonly made: RequestTemplate } | undefined;
  #usage: TokenUsageInfo | null;
  #size: number;
  #rateLimits: RateLimits = NO_RATE_LIMITS;
  /** Models that the provider refused in this turn. */
  readonly #refused = new Set<string>();

  constructor(readonly parts: ConversationParts) {
    this.#settings = parts.settings;
    this.#usage = parts.usage;
    this.#size = parts.usage?.last_token_usage.total_tokens ?? 0;
  }

  /** The thread's settings, with another model once the original is no longer offered. */
  get settings(): ThreadSettings {
    return this.#settings;
  }

  get contextWindow(): number | null {
    return usableWindow(this.#settings);
  }

  get history(): History {
    return this.parts.history;
  }

  /** The request with the currently available tools; rebuilt only when they change. */
  async template(signal: AbortSignal): Promise<RequestTemplate> {
    const tools = await this.parts.threadTools.declarations({ signal });
    if (this.#template?.tools !== tools)
      this.#template = { tools, made: new RequestTemplate({ ...this.parts, settings: this.#settings, tools }) };
    return this.#template.made;
  }

  /**
   * After a failed request: the events to continue with when the provider does not have the model and a retry with another one, or the
   * same, may work. Undefined for every other failure. Throws `ModelFailure` with advice.
   */
  async afterRefusedModel(failure: ModelFailure, signal: AbortSignal): Promise<readonly ThreadEvent[] | undefined> {
    const { models, threadTools, sandboxBackend } = this.parts;
    const settings = this.#settings;
    if (!failure.missesModel || !models || this.#refused.has(settings.model)) return undefined;
    // Codex 0.92.0 did not retry with a model that was explicitly named.
    if (settings.asRecorded && settings.modelIsOurs === undefined) return undefined;
    this.#refused.add(settings.model);
    // A reply to a thread cannot name a model.
    const mayReplace = settings.modelIsOurs !== undefined || settings.modelIsReplaceable === true || this.#usage !== null;
    const chosen = await (await models()).afterRefusal({ failure, settings, mayReplace }, signal);
    if (chosen.settings === settings) return [];
    this.#settings = chosen.settings;
    this.#template = undefined;
    threadTools.useSettings(chosen.settings);
    const notice: ThreadEvent[] = chosen.notice === undefined ? [] : [{ type: "warning", message: chosen.notice }];
    return [...notice, { type: "turnContext", settings: chosen.settings, sandboxBackend }];
  }

  /** Adds to the history and returns the event that shows it. */
  remember(item: RawItem): ThreadEvent {
    this.history.append([item]);
    return { type: "rawItem", item };
  }

  /** Adds to the history and returns the event that records it without showing it. */
  rememberUnseen(item: RawItem): ThreadEvent {
    this.history.append([item]);
    return { type: "unseenItem", item };
  }

  /** Adds a user message. */
  addUserMessage(text: string, images: readonly string[] = []): ThreadEvent[] {
    const item: Item = { kind: "userMessage", id: randomUUID(), text, ...(images.length > 0 && { images }) };
    return [this.remember(message("user", text, images)), { type: "itemStarted", item }, { type: "itemCompleted", item }];
  }

  turnStarted(): ThreadEvent {
    this.#refused.clear();
    return { type: "turnStarted", contextWindow: this.contextWindow };
  }

  /** A separate conversation that shares only the beginning of this one. `addCostOf` adds its token usage to this one. */
  aside(question: string): Conversation {
    const { initialContext } = this.parts;
    const history = new History([...initialContext, message("user", question)]);
    const usage = this.#usage && { ...this.#usage, last_token_usage: NO_USAGE };
    const aside = new Conversation({ ...this.parts, settings: this.#settings, history, usage });
    aside.#rateLimits = this.#rateLimits;
    return aside;
  }

  addCostOf(aside: Conversation): void {
    if (aside.#usage) this.#setUsage(aside.#usage.total_token_usage, this.#usage?.last_token_usage ?? NO_USAGE, this.#size);
    this.#rateLimits = aside.#rateLimits;
    this.#settings = aside.#settings;
    this.#template = undefined;
  }

  /** The size of the conversation at the last response, in tokens. */
  get size(): number {
    return this.#size;
  }

  get needsCompaction(): boolean {
    return this.size >= compactionLimit(this.settings);
  }

  tokenCount(): ThreadEvent {
    return { type: "tokenCount", usage: this.#usage, rateLimits: this.#rateLimits };
  }

  /** A request was accepted. Like Codex, this drops the previous limits where the response names none. */
  noteAccepted(limits: RateLimits | undefined): void {
    this.noteRateLimits(limits ?? (this.#settings.asRecorded ? NO_RATE_LIMITS : undefined));
  }

  noteRateLimits(limits: RateLimits | undefined): void {
    if (limits) this.#rateLimits = limits;
  }

  /** Adds the token usage of one more response. */
  noteUsage(last: TokenUsage): void {
    this.#setUsage(this.#usage ? addUsage(this.#usage.total_token_usage, last) : last, last);
  }

  /** The context window overflowed: counting it as full makes the next request wait for a summary. */
  noteFull(): void {
    const window = this.contextWindow;
    if (window === null) return;
    if (!this.#settings.asRecorded) return this.noteSize(window);
    // Codex 0.92.0 reported the whole window as the total usage, and the tokens that were still free as the usage of the last response.
    const missing = Math.max(window - (this.#usage?.total_token_usage.total_tokens ?? 0), 0);
    this.#setUsage({ ...NO_USAGE, total_tokens: window }, { ...NO_USAGE, total_tokens: missing }, window);
  }

  /** Sets the size where no response reports it. */
  noteSize(totalTokens: number): void {
    this.#setUsage(this.#usage?.total_token_usage ?? NO_USAGE, { ...NO_USAGE, total_tokens: totalTokens });
  }

  #setUsage(total: TokenUsage, last: TokenUsage, size = last.total_tokens): void {
    this.#usage = { total_token_usage: total, last_token_usage: last, model_context_window: this.contextWindow };
    this.#size = size;
  }
}

/** Everything of a model request except the conversation, as JSON text that is built once per thread. */
export class RequestTemplate {
  readonly #start: string;

  constructor({
    threadId,
    settings,
    tools,
  }: { readonly threadId: string; readonly settings: ThreadSettings; readonly tools: readonly Declaration[] }) {
    const fields = {
      model: settings.model,
      instructions: settings.baseInstructions ?? BASE_INSTRUCTIONS,
      tools,
      tool_choice: "auto",
      parallel_tool_calls: tools.length > 0 && traitsOf(settings).parallelToolCalls,
      ...reasoningFields(settings),
      store: false,
      stream: true,
      prompt_cache_key: threadId,
    };
    this.#start = `${JSON.stringify(fields).slice(0, -1)},"input":[`;
  }

  body(history: History): string {
    return `${this.#start}${history.inputText}]}`;
  }

  bodyOf(items: readonly RawItem[]): string {
    return `${this.#start}${items.map((item) => JSON.stringify(item)).join(",")}]}`;
  }
}

function reasoningFields(settings: ThreadSettings): Record<string, unknown> {
  const traits = traitsOf(settings);
  const asked = traits.verbosity ? (settings.verbosity ?? traits.defaultVerbosity) : undefined;
  const verbosity = asked === undefined ? {} : { text: { verbosity: asked } };
  if (!(settings.supportsReasoningSummaries ?? traits.reasoning)) return { reasoning: null, include: [], ...verbosity };
  const effort = effortOnTheWire(settings);
  const summary = settings.reasoningSummary === "none" ? undefined : settings.reasoningSummary;
  return {
    reasoning: { ...(effort === undefined ? {} : { effort }), ...(summary === undefined ? {} : { summary }) },
    include: ["reasoning.encrypted_content"],
    ...verbosity,
  };
}

/** The limit of messages waiting for the model. */
const MOST_WAITING = 16;

interface OpenTurn {
  readonly signal: AbortSignal;
  waiting: string[];
}

/** User messages sent while a turn runs, until the model gets them. */
export class Steering {
  #turn: OpenTurn | undefined;

  /** Accepts messages until the turn closes or its signal aborts. */
  open(signal: AbortSignal): void {
    this.#turn = { signal, waiting: [] };
  }

  /** Whether the turn accepts the message. The model sees an accepted message before the turn completes. */
  add(text: string): boolean {
    const turn = this.#turn;
    if (!turn || turn.signal.aborted || turn.waiting.length >= MOST_WAITING) return false;
    turn.waiting.push(text);
    return true;
  }

  /** Takes all waiting messages, in order. */
  take(): readonly string[] {
    const waiting = this.#turn?.waiting ?? [];
    if (this.#turn) this.#turn.waiting = [];
    return waiting;
  }

  /** Stops accepting messages, unless one waits: then the turn must continue with it. */
  closeIfNothingWaits(): boolean {
    if (this.#turn && this.#turn.waiting.length > 0) return false;
    this.close();
    return true;
  }

  close(): void {
    this.#turn = undefined;
  }
}
