import { describe } from "../../src/lib/errors.js";
import { type BenchCase, type CaseRun, SHORT_TURN, timedMs } from "../benchCase.js";
import { treePeakRssMiB } from "../procfs.js";
import { quantile } from "../samples.js";

export const BURST = {
  total: (size: number) => `${size} at once: all answered, ms`,
  p95: (size: number) => `${size} at once: p95, ms`,
  failures: (size: number) => `${size} at once: failures`,
  peak: (size: number) => `${size} at once: peak RSS, MiB`,
} as const;

const SIZES = [1, 8, 32, 100];

export const burstCase: BenchCase = {
  name: "burst",
  title: "New threads at once",
  async run(run) {
    for (const size of SIZES) await burst(run, size);
  },
};

async function burst(run: CaseRun, size: number): Promise<void> {
  await using server = await run.start();
  const { session, pid } = server;
  await session.turn(SHORT_TURN);
  const turns = Array.from({ length: size }, () => () => timedMs(() => session.turn(SHORT_TURN)));
  const began = performance.now();
  const results = await Promise.allSettled(turns.map((turn) => turn()));
  run.put(BURST.total(size), performance.now() - began);
  run.put(
    BURST.p95(size),
    quantile(
      results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])),
      0.95,
    ) ?? Number.NaN,
  );
  run.put(BURST.peak(size), treePeakRssMiB(pid));

  const failures = results.flatMap((result) => (result.status === "rejected" ? [describe(result.reason)] : []));
  run.put(BURST.failures(size), failures.length);
  if (failures[0] !== undefined) throw new Error(`${failures.length} of ${size} at once failed, the first with: ${failures[0]}`);
}
