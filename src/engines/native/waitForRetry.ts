import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadEvent } from "../../threads/events.js";
import type { ModelFailure } from "./model/client.js";
import type { RetryBudget } from "./model/retry.js";

/** Announces the next try and waits until it is due. Throws the failure itself when there is none. */
export async function* waitForRetry(
  budget: RetryBudget,
  failure: ModelFailure,
  signal: AbortSignal,
): AsyncGenerator<readonly ThreadEvent[], void> {
  const retry = budget.next(failure);
  if (!retry) throw failure;
  yield [{ type: "modelRetry", attempt: retry.attempt, limit: retry.limit, cause: failure.message }];
  await sleep(retry.waitMs, undefined, { signal });
}
