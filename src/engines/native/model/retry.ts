import type { ModelProvider } from "../../../threads/settings.js";
import type { ModelFailure } from "./client.js";

const BASE_DELAY_MS = 200;
const MAX_BACK_OFF_MS = 30_000;
/** A provider that asks for more patience than this gets none: the caller is told instead of kept waiting. */
const MAX_DELAY_MS = 120_000;

export interface RetryPlan {
  readonly attempt: number;
  readonly limit: number;
  readonly waitMs: number;
}

/** Counts the failures of one model request and says whether, and when, to ask again. */
export class RetryBudget {
  readonly #used = { request: 0, stream: 0 };

  constructor(
    private readonly provider: Pick<ModelProvider, "requestMaxRetries" | "streamMaxRetries">,
    private readonly random: () => number = Math.random,
  ) {}

  next(failure: ModelFailure): RetryPlan | undefined {
    if (failure.retry === "never") return undefined;
    const limit = failure.retry === "request" ? this.provider.requestMaxRetries : this.provider.streamMaxRetries;
    const attempt = ++this.#used[failure.retry];
    if (attempt > limit) return undefined;
    const waitMs = failure.retryAfterMs ?? this.#backOff(attempt);
    return waitMs > MAX_DELAY_MS ? undefined : { attempt, limit, waitMs };
  }

  #backOff(attempt: number): number {
    return Math.min(MAX_BACK_OFF_MS, BASE_DELAY_MS * 2 ** (attempt - 1) * (0.9 + 0.2 * this.random()));
  }
}
