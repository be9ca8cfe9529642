import { isFields } from "../../lib/fields.js";
import type { ThreadSettings } from "../../threads/settings.js";

export interface StallLimits {
  /** The longest silence while only the model is working. */
  readonly silenceMs: number;
  /** How long the same error may be repeated. */
  readonly repetitionMs: number;
}

/** Added to Codex's own timeout for the model. */
const SILENCE_MARGIN_MS = 60_000;
/** How long Codex may repeat the same message, for example that it waits for a network. */
const REPETITION_MS = 120_000;

export function stallLimits({ provider }: Pick<ThreadSettings, "provider">): StallLimits {
  const silenceMs = provider.streamIdleTimeoutMs + SILENCE_MARGIN_MS;
  return { silenceMs, repetitionMs: Math.min(REPETITION_MS, silenceMs) };
}

interface StallCallbacks {
  /** Something else is being waited for. */
  readonly isExcused: () => boolean;
  /** Called after a long silence that has a reason. */
  readonly waiting: () => void;
  /** Receives a sentence that says what is wrong. */
  readonly stalled: (message: string) => void;
}

/**
 * Items with a time limit here. All others may take any time: what they run has its own limits. Other agents' activity is visible by
 * itself.
 */
const MODEL_ITEMS = new Set([
  "userMessage",
  "agentMessage",
  "reasoning",
  "plan",
  "contextCompaction",
  "enteredReviewMode",
  "exitedReviewMode",
  "collabAgentToolCall",
  "subAgentActivity",
]);

/** Detects a turn without progress: without a network Codex waits for ever and repeats its messages. */
export class StallWatch {
  readonly #limits: StallLimits;
  readonly #callbacks: StallCallbacks;
  readonly #atWork = new Set<unknown>();
  #complaint: { readonly text: string; readonly since: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: StallLimits, callbacks: StallCallbacks) {
    this.#limits = limits;
    this.#callbacks = callbacks;
  }

  start(): void {
    this.#restart();
  }

  observe(method: string, params: unknown): void {
    const { item, error } = isFields(params) ? params : {};
    if (method === "error" && isFields(error)) return this.#complained(String(error["message"]));
    if (method === "item/started" && isFields(item) && !MODEL_ITEMS.has(String(item["type"]))) this.#atWork.add(item["id"]);
    if (method === "item/completed" && isFields(item)) this.#atWork.delete(item["id"]);
    this.#complaint = undefined;
    this.#restart();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #complained(text: string): void {
    if (text !== this.#complaint?.text) {
      this.#complaint = { text, since: Date.now() };
      this.#restart();
    } else if (Date.now() - this.#complaint.since >= this.#limits.repetitionMs) this.#giveUp(this.#limits.repetitionMs);
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#expire(), this.#limits.silenceMs);
  }

  #expire(): void {
    if (this.#atWork.size === 0 && !this.#callbacks.isExcused()) return this.#giveUp(this.#limits.silenceMs);
    this.#callbacks.waiting();
    this.#restart();
  }

  #giveUp(afterMs: number): void {
    this.stop();
    const lastReport = this.#complaint ? ` It said last: ${this.#complaint.text}` : "";
    this.#callbacks.stalled(`Codex made no progress for ${Math.round(afterMs / 1_000)} s, so the turn was ended.${lastReport}`);
  }
}

/** Detects a turn that ends with a user message the model has not seen: Codex accepts such messages up to the very end of a turn. */
export class LateMessages {
  #messages = 0;
  #isUnanswered = false;

  observe(method: string, params: unknown): void {
    const { item } = isFields(params) ? params : {};
    if (method === "thread/tokenUsage/updated") this.#isUnanswered = false;
    if (method !== "item/started" || !isFields(item)) return;
    const isUsers = item["type"] === "userMessage";
    if (isUsers) this.#messages++;
    // The first message is the turn's own prompt.
    this.#isUnanswered = isUsers && this.#messages > 1;
  }

  /** True once per occurrence. */
  takeUnanswered(): boolean {
    const isUnanswered = this.#isUnanswered;
    this.#isUnanswered = false;
    return isUnanswered;
  }
}
