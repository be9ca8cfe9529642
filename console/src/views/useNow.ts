import { useEffect, useState } from "react";

/**
 * The current time, updated at this interval while it is needed.
 *
 * @param clock Use `monotonic` for durations, because the system's clock may be set.
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
