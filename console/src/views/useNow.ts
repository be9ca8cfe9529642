import { useEffect, useState } from "react";

/**
 * The time, as often as it is shown; not at all while nothing depends on it.
 *
 * @param clock For how long something has taken `monotonic`: the clock on the wall may be set.
 */
export function useNow(everyMs: number, isNeeded = true, clock: () => number = Date.now): number {
  const [now, setNow] = useState(clock);
  useEffect(() => {
    if (!isNeeded) return;
    setNow(clock());
    const timer = setInterval(() => setNow(clock()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isNeeded, clock]);
  return now;
}

/** Milliseconds on a clock that never goes back. */
export function monotonic(): number {
  return performance.now();
}
