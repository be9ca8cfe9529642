import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { describe } from "../src/lib/errors.js";
import { CASES } from "./cases/catalog.js";
import { judge } from "./goals.js";
import { Launcher } from "./launcher.js";
import { startModel } from "./model.js";
import { type BenchOptions, parseOptions, USAGE } from "./options.js";
import { Processes } from "./processes.js";
import { caseTable, lastLine, remarkLines, verdictTable } from "./report.js";
import { measureAll, type Outcome } from "./rounds.js";
import { Stage } from "./stage.js";
import { findTargets, TARGET_NAMES } from "./targets.js";

/** A whole run ends within twelve minutes; the last measurement may take one of them. */
const MINUTES = 11;
const USUAL_ROUNDS = 3;
const GRACE_MS = 60_000;
const NAMES = { cases: CASES.map(({ name }) => name), targets: TARGET_NAMES };

process.exitCode = await main(process.argv.slice(2));

/** Resolves with the exit code: 0; 1 if our server failed or misses a goal by more than noise; 2 for wrong options. */
async function main(argv: readonly string[]): Promise<number> {
  const options = optionsOrComplaint(argv);
  if (typeof options === "string") {
    console.error(options);
    return 2;
  }
  if (options.help) {
    console.log(`${USAGE}\ncases: ${NAMES.cases.join(", ")}\nservers: ${NAMES.targets.join(", ")}`);
    return 0;
  }
  return report(await run(options), options);
}

function optionsOrComplaint(argv: readonly string[]): BenchOptions | string {
  try {
    return parseOptions(argv, NAMES);
  } catch (error) {
    return `${describe(error)}\n\n${USAGE}`;
  }
}

async function run(options: BenchOptions): Promise<Outcome> {
  const deadline = Date.now() + Math.max(1, options.rounds / USUAL_ROUNDS) * MINUTES * 60_000;
  const processes = new Processes();
  const stage = new Stage();
  const installing = new AbortController();
  process.once("exit", () => {
    installing.abort();
    processes.killAll();
    stage.remove();
  });
  exitOnSignalOrAt(deadline + GRACE_MS);

  const targets = await findTargets({
    names: options.targets,
    signal: installing.signal,
    onMissing: (name, reason) => console.error(`${name} is left out: ${reason}`),
  });
  await using model = await startModel(processes);
  const outcome = await measureAll({
    rounds: options.rounds,
    cases: CASES.filter(({ name }) => options.cases.includes(name)),
    targets,
    launcher: new Launcher({ processes, stage, modelUrl: model.url }),
    deadline,
    onMeasured: ({ round, caseName, target, seconds, foreignCores }) =>
      console.error(
        `round ${round}  ${caseName.padEnd(7)} ${target.padEnd(17)} ${seconds.toFixed(1)} s, others used ${foreignCores.toFixed(2)} cores`,
      ),
  });
  const oursIsMissing = options.targets.includes("ours") && !targets.some(({ name }) => name === "ours");
  return { ...outcome, oursFailed: outcome.oursFailed || oursIsMissing };
}

function exitOnSignalOrAt(moment: number): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130));
  const watchdog = setTimeout(() => {
    console.error("Stopped: the run hangs.");
    process.exit(3);
  }, moment - Date.now());
  watchdog.unref();
}

function report({ samples, remarks, oursFailed }: Outcome, { rounds, jsonFile }: BenchOptions): number {
  const verdicts = judge(samples);
  const host = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform}; ${rounds} rounds`;
  console.log(`\n${host}; median (middle half)\n`);
  for (const benchCase of CASES.filter(({ name }) => samples.caseNames.includes(name))) console.log(`${caseTable(benchCase, samples)}\n`);
  if (remarks.length > 0) console.log(`${remarkLines(remarks)}\n`);
  console.log(verdictTable(verdicts));
  if (jsonFile !== undefined) writeFileSync(jsonFile, `${JSON.stringify({ host, samples, remarks, verdicts }, undefined, 1)}\n`);
  console.log(`\n${lastLine(verdicts)}`);
  return oursFailed || verdicts.some(({ beyondNoise }) => beyondNoise) ? 1 : 0;
}
