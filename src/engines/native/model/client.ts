import { setTimeout as sleep } from "node:timers/promises";
import type { CodexErrorInfo, ThreadEvent } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";
import type { ModelProvider } from "../../../threads/settings.js";
import type { RateLimits, TokenUsage } from "../../../threads/usage.js";

/** Responds to model requests: the Responses API of a provider, or the scripted model. */
export interface ModelClient {
  /**
   * Sends one request and yields the response's events in batches as they arrive. Ends after `completed`.
   * Throws `ModelFailure` for all failures, and the signal's reason when it aborts.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<readonly ModelEvent[]>;
}

export interface ModelRequest {
  /** The request as JSON text, so that a long history is concatenated instead of serialised again. */
  readonly body: string;
}

export type ModelEvent =
  /** The response begins: the provider accepted the request. */
  | { readonly type: "accepted"; readonly rateLimits: RateLimits | undefined }
  | { readonly type: "itemAdded"; readonly item: RawItem }
  | { readonly type: "itemDone"; readonly item: RawItem }
  | { readonly type: "textDelta"; readonly itemId: string; readonly delta: string }
  | { readonly type: "summaryPartAdded"; readonly itemId: string; readonly summaryIndex: number }
  | { readonly type: "summaryDelta"; readonly itemId: string; readonly summaryIndex: number; readonly delta: string }
  | { readonly type: "reasoningTextDelta"; readonly itemId: string; readonly contentIndex: number; readonly delta: string }
  | { readonly type: "completed"; readonly responseId: string; readonly usage: TokenUsage | undefined };

/**
 * What to retry after a failure. `request`: no response began, so the request is retried, and after that the whole exchange; `requestOnly`:
 * only the request; `stream`: the response broke off, and the exchange is retried; `never`: a retry would give the same result.
 */
type Retrying = "request" | "requestOnly" | "stream" | "never";

type RetryLevel = "request" | "stream";

const LEVELS: Readonly<Record<Retrying, readonly RetryLevel[]>> = {
  request: ["request", "stream"],
  requestOnly: ["request"],
  stream: ["stream"],
  never: [],
};

interface FailureDetails {
  readonly info?: CodexErrorInfo;
  readonly retry: Retrying;
  readonly retryAfterMs?: number;
  readonly status?: number;
  readonly rateLimits?: RateLimits;
  readonly missesModel?: boolean;
  readonly advice?: string;
  readonly cause?: unknown;
  /** What Codex 0.92.0 said or did instead. */
  readonly recorded?: { readonly message?: string; readonly retry?: Retrying; readonly rateLimits?: RateLimits };
}

/** Why a model request failed, in Codex's wording. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly info: CodexErrorInfo;
  readonly retry: Retrying;
  readonly retryAfterMs: number | undefined;
  /** The HTTP status of a refused request. */
  readonly status: number | undefined;
  readonly rateLimits: RateLimits | undefined;
  /** The provider does not have the model. */
  readonly missesModel: boolean;
  /** Advice that Codex's own message lacks. */
  readonly advice: string | undefined;
  readonly #about: FailureDetails;

  constructor(message: string, about: FailureDetails) {
    super(message, { cause: about.cause });
    this.info = about.info ?? "other";
    this.retry = about.retry;
    this.retryAfterMs = about.retryAfterMs;
    this.status = about.status;
    this.rateLimits = about.rateLimits;
    this.missesModel = about.missesModel ?? false;
    this.advice = about.advice;
    this.#about = about;
  }

  /** The same failure with each of its texts changed. */
  reworded(reword: (text: string) => string): ModelFailure {
    const { advice, recorded } = this.#about;
    return new ModelFailure(reword(this.message), {
      ...this.#about,
      ...(advice !== undefined && { advice: reword(advice) }),
      ...(recorded?.message !== undefined && { recorded: { ...recorded, message: reword(recorded.message) } }),
    });
  }

  /** The same failure as Codex 0.92.0 had it. */
  asRecorded(): ModelFailure {
    const { recorded, ...about } = this.#about;
    if (!recorded) return this;
    const { message = this.message, ...others } = recorded;
    return new ModelFailure(message, { ...about, ...others });
  }

  /** The same failure with advice; it is not retried. */
  withAdvice(advice: string): ModelFailure {
    return new ModelFailure(this.message, { ...this.#about, retry: "never", advice });
  }
}

const BASE_DELAY_MS = 200;
const MAX_BACK_OFF_MS = 30_000;
/** When a provider asks for a longer delay, the request fails at once instead of keeping the caller waiting. */
const MAX_DELAY_MS = 120_000;

interface RetryPlan {
  readonly level: RetryLevel;
  readonly attempt: number;
  readonly limit: number;
  readonly waitMs: number;
}

/**
 * Counts the failures of one exchange with the model and decides whether and when to retry. As in Codex, the two limits multiply: each
 * retry of the exchange may retry its request as often as the first did.
 */
export class RetryBudget {
  readonly #limits: Readonly<Record<RetryLevel, number>>;
  readonly #random: () => number;
  readonly #used: Record<RetryLevel, number> = { request: 0, stream: 0 };

  constructor(provider: Pick<ModelProvider, "requestMaxRetries" | "streamMaxRetries">, random: () => number = Math.random) {
    this.#limits = { request: provider.requestMaxRetries, stream: provider.streamMaxRetries };
    this.#random = random;
  }

  next(failure: ModelFailure): RetryPlan | undefined {
    const level = LEVELS[failure.retry].find((candidate) => this.#used[candidate] < this.#limits[candidate]);
    if (level === undefined) return undefined;
    if (level === "stream") this.#used.request = 0;
    const attempt = ++this.#used[level];
    const waitMs = failure.retryAfterMs ?? this.#backOff(attempt);
    return waitMs > MAX_DELAY_MS ? undefined : { level, attempt, limit: this.#limits[level], waitMs };
  }

  #backOff(attempt: number): number {
    return Math.min(MAX_BACK_OFF_MS, BASE_DELAY_MS * 2 ** (attempt - 1) * (0.9 + 0.2 * this.#random()));
  }
}

/** Announces the next retry and waits until it is due. Throws the failure when no retry is left. */
export async function* waitForRetry(
  budget: RetryBudget,
  failure: ModelFailure,
  signal: AbortSignal,
): AsyncGenerator<readonly ThreadEvent[], void> {
  const retry = budget.next(failure);
  if (!retry) throw failure;
  const { attempt, limit, level, waitMs } = retry;
  const { message: cause, status } = failure;
  const quiet = level === "request" ? { quiet: true as const } : {};
  yield [{ type: "modelRetry", attempt, limit, cause, ...(status === undefined ? {} : { status }), ...quiet }];
  await sleep(waitMs, undefined, { signal });
}
