// Starts the server file by file, makes one warm call and prints what it executed and its spine: the chain of files from the message to the model request.
// Exits non-zero if a goal is missed.
//   npm run walk [-- stdio|http] [-- --list]     --list: every file that was executed, with its functions
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { mockProvider } from "../test/support/model/mockProvider.js";
import { startResponsesServer } from "../test/support/model/responsesServer.js";
import { type Caller, httpCaller, stdioCaller } from "./walk/callers.js";
import { type Executed, executedIn, medianOf } from "./walk/coverage.js";
import { climbs, documentedSpine, spineFiles } from "./walk/path.js";
import { listenForProbe } from "./walk/probe.js";
import { findSpine } from "./walk/spine.js";
import { type TranspiledProgram, transpile } from "./walk/transpile.js";

interface Walk {
  readonly name: string;
  readonly about: string;
  readonly open: typeof stdioCaller;
  readonly mostFiles: number;
  /** The file that receives messages; without it, the outermost function that the call enters. */
  readonly entry?: string;
  readonly mostSpineFiles?: number;
}

const WALKS: readonly Walk[] = [
  {
    name: "stdio",
    about: "stdio, `codex`, native engine, no command",
    open: stdioCaller,
    mostFiles: 57,
    entry: "src/jsonrpc/peer.ts",
    mostSpineFiles: 9,
  },
  { name: "http", about: "HTTP 2025-11-25, `codex`, native engine, a command with an approval", open: httpCaller, mostFiles: 103 },
];
const WARM_UP_CALLS = 3;
/** The median counts, because deferred work of one call may fall into the next. The number is odd, so that the median is one of the calls. */
const MEASURED_CALLS = 5;
/** Work after an answer belongs to its call, so it is awaited. */
const SETTLE_MS = 250;
const isListing = process.argv.includes("--list");
const chosen = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));

const misses: string[] = [];
{
  using program = await transpile();
  for (const walk of WALKS.filter(({ name }) => chosen.length === 0 || chosen.includes(name))) misses.push(...(await take(walk, program)));
}
for (const miss of misses) console.log(`MISSED ${miss}`);
process.exitCode = misses.length === 0 ? 0 : 1;

async function take(walk: Walk, program: TranspiledProgram): Promise<string[]> {
  await using model = await startResponsesServer({ keepRequests: false });
  using listener = listenForProbe(model.url);
  await using caller = await walk.open({
    command: [process.execPath, "--no-warnings", "--import", `${process.cwd()}/scripts/walk/probe.mjs`, program.main],
    config: mockProvider(model.url),
    env: listener.env,
  });
  const probe = await listener.probe;
  for (let calls = 0; calls < WARM_UP_CALLS; calls++) await settledCall(caller);
  const measured: Executed[] = [];
  for (let calls = 0; calls < MEASURED_CALLS; calls++) {
    await probe.reset();
    await settledCall(caller);
    measured.push(executedIn(await probe.coverage(), program));
  }
  const executed = medianOf(measured);
  const chain = await findSpine({ program, probe, call: () => caller.call(), entry: walk.entry });
  const spine = spineFiles(chain.map(({ file }) => file));
  report(walk, executed, spine);
  return [...tooMany(`${walk.name}: files`, executed.size, walk.mostFiles), ...spineMisses(walk, spine)];
}

async function settledCall(caller: Caller): Promise<void> {
  await caller.call();
  await sleep(SETTLE_MS);
}

function report({ about, mostFiles, mostSpineFiles }: Walk, executed: Executed, spine: readonly string[]): void {
  const functions = [...executed.values()].reduce((sum, names) => sum + names.length, 0);
  console.log(`${about}\n  executed: ${executed.size} files (goal ${mostFiles}), ${functions} functions`);
  if (isListing) for (const [file, names] of executed) console.log(`    ${file}: ${names.join(", ")}`);
  console.log(`  spine: ${spine.length} files${mostSpineFiles === undefined ? "" : ` (goal ${mostSpineFiles})`}`);
  const upward = climbs(spine);
  spine.forEach((file, index) => {
    console.log(`    ${String(index + 1).padStart(2)}. ${file}${upward.includes(index) ? "   (climbs up)" : ""}`);
  });
  console.log();
}

function spineMisses({ name, mostSpineFiles }: Walk, spine: readonly string[]): string[] {
  if (mostSpineFiles === undefined) return [];
  const documented = documentedSpine(readFileSync("docs/architecture.md", "utf8"));
  return [
    ...tooMany(`${name}: files of the spine`, spine.length, mostSpineFiles),
    ...climbs(spine).map((index) => `${name}: the spine climbs up to ${spine[index]}`),
    ...(documented.join() === spine.join() ? [] : [`${name}: the spine in docs/architecture.md is ${documented.join(" → ")}`]),
  ];
}

function tooMany(what: string, count: number, most: number): string[] {
  return count > most ? [`${what}: ${count}, goal ${most}`] : [];
}
