import { setImmediate as loopTurn } from "node:timers/promises";

/** How long a list is worked on before others get their turn. */
const SLICE_MS = 10;
/** Reading the clock takes longer than the work on a short entry. */
const ENTRIES_PER_LOOK = 64;

/** Calls `work` for every entry, in their order. While the list is long, the requests of others are served in between. */
export async function inSlices<Entry>(entries: Iterable<Entry>, work: (entry: Entry) => void): Promise<void> {
  let until = performance.now() + SLICE_MS;
  let done = 0;
  for (const entry of entries) {
    work(entry);
    if (++done % ENTRIES_PER_LOOK !== 0 || performance.now() < until) continue;
    await loopTurn();
    until = performance.now() + SLICE_MS;
  }
}
