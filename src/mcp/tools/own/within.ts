import { deferred } from "../../../lib/deferred.js";
import type { Call } from "../../call.js";
import { TookTooLong } from "./errors.js";

export interface Patience {
  readonly ms: number;
  /** What the work gets to stop in once it is told to; without it nobody waits for that. */
  readonly stopMs?: number;
}

/** Ends with the work, with its call, or with its deadline, whichever comes first. The signal tells the work that it is not wanted any more. */
export async function within<T>(
  { ms, stopMs = 0 }: Patience,
  call: Pick<Call, "signal">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const deadline = setTimeout(() => late.abort(new TookTooLong(ms)), ms);
  const signal = AbortSignal.any([call.signal, late.signal]);
  const stopped = deferred<never>();
  let stopping: NodeJS.Timeout | undefined;
  const stop = () => {
    stopping = setTimeout(() => stopped.reject(signal.reason), stopMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work(signal), stopped.promise]);
  } finally {
    clearTimeout(deadline);
    clearTimeout(stopping);
    signal.removeEventListener("abort", stop);
  }
}
