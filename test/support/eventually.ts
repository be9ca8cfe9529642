import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 20;
const PATIENCE_MS = 45_000;

/** Polls for conditions without an event, such as a line in a file of another process. A `look` that throws counts as one that returns undefined. */
export async function eventually<T>(what: string, look: () => T | undefined): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = attempt(look);
    if (found !== undefined) return found;
    if (performance.now() >= until) throw new Error(`Never came: ${what}.`);
    await sleep(LOOK_EVERY_MS);
  }
}

function attempt<T>(look: () => T | undefined): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
