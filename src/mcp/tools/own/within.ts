import { Deadline, withDeadline } from "../../../lib/deadlines.js";
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
  using deadline = new Deadline(ms, () => new TookTooLong(ms));
  return await withDeadline({ deadline, signal: call.signal, stopMs }, work);
}
