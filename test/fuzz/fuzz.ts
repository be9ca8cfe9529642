import { readFileSync } from "node:fs";
import { describe, it } from "vitest";
import { describe as describeError } from "../../src/lib/errors.js";
import { ALL_ATTACKS } from "../attack/attack.js";
import { Ground } from "../attack/ground.js";
import type { Victim } from "../attack/victim.js";
import { SeededRandom } from "../support/patch/random.js";

const SEED = 7;
const FUZZ_MS = 240_000;
/** Output of a program that met an unexpected error. */
const SURPRISE = /unhandled|uncaught|\b(Type|Reference|Range|Syntax)Error\b|^\s+at .+:\d+:\d+\)?$|heap out of memory|internal error/i;

export interface Fuzz {
  /** The number of inputs in `npm test` and in `npm run attack`. */
  readonly budget: { readonly quick: number; readonly all: number };
  /** Sends the inputs to a server. Throws if a requirement is violated. */
  readonly play: (ground: Ground, rounds: Iterable<SeededRandom>) => Promise<void>;
}

/** Fuzzes the target with the usual seed and with every seed that once found a defect. A failure names the seed to keep. */
export function describeFuzz(target: string, { budget, play }: Fuzz): void {
  const count = ALL_ATTACKS ? budget.all : budget.quick;
  const seeds = [SEED, ...keptSeeds(target)];
  describe(`invented ${target}`, { timeout: FUZZ_MS }, () => {
    it.each(seeds)(`do no harm, seed %i, ${count} of them`, async (seed) => {
      const played = { round: 0 };
      await using ground = await Ground.open();
      try {
        await play(ground, rounds(seed, count, played));
      } catch (cause) {
        const where = `${target}, seed ${seed}, about round ${played.round}`;
        throw new Error(`${where}: ${describeError(cause)}. Keep the seed in test/fuzz/seeds.json.`, { cause });
      }
    });
  });
}

/** Every round has a generator of its own, so that it is the same however many numbers earlier rounds used. */
function* rounds(seed: number, count: number, played: { round: number }): Generator<SeededRandom> {
  for (; played.round < count; played.round++) yield new SeededRandom(seed * 1_000_003 + played.round);
}

function keptSeeds(target: string): number[] {
  const kept = JSON.parse(readFileSync(new URL("seeds.json", import.meta.url), "utf8")) as Record<string, number[]>;
  const seeds = kept[target];
  if (!seeds) throw new Error(`test/fuzz/seeds.json has no place for ${target}.`);
  return seeds;
}

/** The state that a server must be in after any input. */
export async function checkHealth(victim: Victim): Promise<void> {
  const { end } = victim.server.process;
  if (end) throw new Error(`The server ended with ${JSON.stringify(end)}: ${victim.server.errorLines.slice(-5).join(" | ")}`);
  await victim.stillAnswers();
  checkWords(victim.server.errorLines);
  const [excess] = victim.excesses();
  if (excess !== undefined) throw new Error(excess);
}

/** Fails if a line of stderr reports an unexpected error. */
export function checkWords(lines: readonly string[]): void {
  const surprised = lines.find((line) => SURPRISE.test(line));
  if (surprised !== undefined) throw new Error(`stderr: ${surprised.slice(0, 500)}`);
}

/** Fails if the answer reports an unexpected error. */
export function checkAnswer(answer: unknown, asked: unknown): void {
  const text = JSON.stringify(answer) ?? "";
  if (!text.includes("-32603") && !SURPRISE.test(text)) return;
  // The answer may repeat the input.
  if (SURPRISE.test(JSON.stringify(asked) ?? "")) return;
  throw new Error(`${text.slice(0, 500)} to ${JSON.stringify(asked).slice(0, 1000)}`);
}
