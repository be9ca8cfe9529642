import { Deadline, withDeadline } from "../lib/promises.js";
import type { Asker } from "./access.js";
import { TookTooLong } from "./errors.js";

/** Timeout for requests that the engine answers without running a command or turn. */
const ENGINE_ANSWER_MS = 60_000;

/** For work that runs no command and no turn. */
export function promptly<T>(ask: Asker, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return endedWithin({ ms: ENGINE_ANSWER_MS, stopMs: 0 }, ask, work);
}

/** Ends when the work ends, its call is aborted or the time is up, whichever comes first. */
export async function endedWithin<T>(
  { ms, stopMs }: { readonly ms: number; readonly stopMs: number },
  { signal }: Asker,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using deadline = new Deadline(ms, () => new TookTooLong(ms));
  return await withDeadline({ deadline, signal, stopMs }, work);
}
