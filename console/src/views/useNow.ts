import { useEffect, useState } from "react";

/** The time, as often as it is shown; not at all while nothing depends on it. */
export function useNow(everyMs: number, isNeeded = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isNeeded) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isNeeded]);
  return now;
}
