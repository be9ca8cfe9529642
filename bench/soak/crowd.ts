import { setTimeout as sleep } from "node:timers/promises";
import { describe } from "../../src/lib/errors.js";
import { BAD_CLIENTS } from "./badClients.js";
import { GOOD_CLIENTS } from "./goodClients.js";
import { Visit } from "./visit.js";

export interface CrowdOptions {
  readonly url: string;
  readonly seconds: number;
  /** Clients at the same time. */
  readonly size: number;
  /** The pause of each client between two visits, so that the crowd does not use the whole machine. */
  readonly restMs: number;
  readonly seed: number;
}

export interface CrowdReport {
  /** Kind of client → visits. */
  readonly visits: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

const KINDS = Object.entries({ ...GOOD_CLIENTS, ...BAD_CLIENTS });
const FAILURES_KEPT = 20;

/** Runs visits of clients of all kinds for a while. The same seed gives the same order of kinds. */
export async function crowd({ url, seconds, size, restMs, seed }: CrowdOptions): Promise<CrowdReport> {
  const until = performance.now() + seconds * 1_000;
  const random = randomFrom(seed);
  const visits: Record<string, number> = {};
  const failures: string[] = [];
  const one = async () => {
    while (performance.now() < until) {
      const [name, behave] = KINDS[Math.floor(random() * KINDS.length)] ?? ["nobody", async () => {}];
      using visit = new Visit(url, random);
      try {
        await behave(visit);
        visits[name] = (visits[name] ?? 0) + 1;
      } catch (error) {
        if (failures.length < FAILURES_KEPT) failures.push(`${name}: ${describe(error)}`);
      }
      await sleep(restMs);
    }
  };
  await Promise.all(Array.from({ length: size }, one));
  return { visits, failures };
}

/** Mulberry32: pseudo-random numbers from 0 to 1. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
