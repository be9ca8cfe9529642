import type { BenchCase } from "./benchCase.js";
import type { Launcher } from "./launcher.js";
import { type Measurement, measure } from "./measure.js";
import { Samples } from "./samples.js";
import type { Target } from "./targets.js";

export interface Plan {
  readonly rounds: number;
  readonly cases: readonly BenchCase[];
  readonly targets: readonly Target[];
  readonly launcher: Launcher;
  /** No measurement starts after this moment. */
  readonly deadline: number;
  onMeasured(done: Measurement & { readonly round: number; readonly caseName: string; readonly target: string }): void;
}

export interface Remark {
  readonly caseName: string;
  readonly target: string;
  readonly text: string;
}

export interface Outcome {
  readonly samples: Samples;
  readonly remarks: readonly Remark[];
  /** Our own server failed in a case. */
  readonly oursFailed: boolean;
}

/** All servers take turns within a case, in another order each round, so that slow minutes of the machine affect all alike. */
export async function measureAll(plan: Plan): Promise<Outcome> {
  const samples = new Samples();
  const remarks: Remark[] = [];
  let oursFailed = false;
  for (const { round, benchCase, target } of schedule(plan)) {
    const where = { caseName: benchCase.name, target: target.name };
    if (Date.now() > plan.deadline) {
      remarks.push({ ...where, text: `left out in round ${round}, out of time` });
      continue;
    }
    const measurement = await measure(benchCase, target, plan.launcher);
    plan.onMeasured({ ...measurement, ...where, round });
    for (const [metric, values] of measurement.values) samples.add({ ...where, metric }, values);
    for (const text of measurement.notes) remarks.push({ ...where, text });
    if (measurement.failure === undefined) continue;
    remarks.push({ ...where, text: `failed: ${measurement.failure}` });
    oursFailed ||= target.name === "ours" || target.name === "ours-codex";
  }
  return { samples, remarks, oursFailed };
}

function* schedule({ rounds, cases, targets }: Plan): Generator<{ round: number; benchCase: BenchCase; target: Target }> {
  for (let round = 1; round <= rounds; round++) {
    for (const benchCase of cases.filter(({ once }) => round === 1 || !once)) {
      const taking = targets.filter((target) => canTake(target, benchCase));
      const shift = round % Math.max(1, taking.length);
      for (const target of [...taking.slice(shift), ...taking.slice(0, shift)]) yield { round, benchCase, target };
    }
  }
}

function canTake({ skips, command, listenCommand, apiCommand }: Target, { name, over = "stdio" }: BenchCase): boolean {
  return !skips.includes(name) && { stdio: command, http: listenCommand, api: apiCommand }[over] !== undefined;
}
