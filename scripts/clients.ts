// Runs real clients against the built server. Each is installed, its model and the agent's are scripted, and the results go into docs/clients.md.
//   npm run clients [-- NAME…] [--http] [--long SECONDS] [--verbose]   without names: all of them; --long 0 leaves the long turn out
//                                                    --http: with a listening server instead of stdio
//   npm run clients -- --list                        lists the clients
//   npm run clients -- --page [--check]              writes the page from earlier results; --check: only checks whether it is up to date
// The exit code is 1 if a check failed or a client could not be run.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe } from "../src/lib/errors.js";
import { oneLine } from "../src/lib/oneLine.js";
import { AGENT_PROGRAMS } from "../test/realClients/agentPrograms.js";
import { type RealClient, versionOf, type Way } from "../test/realClients/client.js";
import { LIBRARIES } from "../test/realClients/libraries.js";
import { clientsPage, type Seen, type SeenClient, type SeenRun } from "../test/realClients/page.js";
import { tryClient } from "../test/realClients/trial.js";
import { LONG_SECONDS, verdictsOf } from "../test/realClients/verdicts.js";
import { identityOf } from "../test/realClients/wire.js";

const PAGE = "docs/clients.md";
const SEEN = "test/realClients/seen.generated.json";
/** The length of the reason why a client could not be run, on the screen and on the page. */
const LONGEST_CAUSE = 2_000;
const LONGEST_REASON = 200;
/** A machine may have only two cores, and a client uses one. */
const AT_ONCE = 2;
const WAY: Way = process.argv.includes("--http") ? "http" : "stdio";
const CLIENTS: readonly RealClient[] = [...LIBRARIES, ...AGENT_PROGRAMS];

const args = process.argv.slice(2);
if (args.includes("--list")) for (const client of CLIENTS) console.log(`${client.id.padEnd(10)} ${client.title} ${versionOf(client)}`);
else if (args.includes("--page")) process.exitCode = page(args.includes("--check"));
else process.exitCode = await tryAll(wanted());

function wanted(): readonly RealClient[] {
  const flag = args.indexOf("--long");
  const names = args.filter((arg, at) => !arg.startsWith("--") && (flag < 0 || at !== flag + 1));
  const unknown = names.filter((name) => !CLIENTS.some(({ id }) => id === name));
  if (unknown.length > 0)
    throw new Error(`There is no client ${unknown.join(", ")}. Known are: ${CLIENTS.map(({ id }) => id).join(", ")}.`);
  return names.length === 0 ? CLIENTS : CLIENTS.filter(({ id }) => names.includes(id));
}

function longSeconds(): number {
  const flag = args.indexOf("--long");
  return flag < 0 ? LONG_SECONDS : Number(args[flag + 1]);
}

async function tryAll(clients: readonly RealClient[]): Promise<number> {
  const waiting = [...clients];
  let failures = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let client = waiting.shift(); client; client = waiting.shift()) {
        const row = await seenOf(client);
        keep(client.id, row);
        failures += report(client, row);
      }
    }),
  );
  page(false);
  console.log(failures === 0 ? "all checks of all clients passed" : `${failures} checks failed or were not made`);
  return failures === 0 ? 0 : 1;
}

async function seenOf(client: RealClient): Promise<SeenRun> {
  const facts = { version: versionOf(client), day: new Date().toISOString().slice(0, 10) };
  try {
    const trial = await tryClient(client, { way: WAY, longSeconds: longSeconds() });
    if (args.includes("--verbose")) for (const [name, evidence] of Object.entries(trial)) show(client, name, evidence);
    const identity = identityOf(trial.work.wire);
    return { ...facts, ...(identity && { identity }), verdicts: verdictsOf(trial) };
  } catch (error) {
    console.error(oneLine(describe(error instanceof Error ? (error.cause ?? error) : error), LONGEST_CAUSE));
    return { ...facts, notRun: oneLine(describe(error), LONGEST_REASON) };
  }
}

function show(
  { id }: RealClient,
  name: string,
  evidence: { readonly results: readonly string[]; readonly end: { readonly output: string } } | undefined,
): void {
  console.log(`--- ${id} ${name}: ${JSON.stringify(evidence?.end)}`);
  for (const [at, result] of (evidence?.results ?? []).entries()) console.log(`  ${at}: ${result.slice(0, 1500)}`);
}

/** The number of failed checks. */
function report(client: RealClient, { verdicts, notRun }: SeenRun): number {
  if (!verdicts) {
    console.log(`\n*** ${client.title} ${versionOf(client)} WAS NOT RUN: ${notRun}\n`);
    return 1;
  }
  console.log(`${client.title} ${versionOf(client)} (${WAY})`);
  const cannot = client.cannot?.[WAY] ?? {};
  const failed = Object.entries(verdicts).filter(([name, { ok }]) => !ok && cannot[name] === undefined);
  for (const [name, { ok, note }] of Object.entries(verdicts))
    console.log(`  ${ok ? "ok    " : cannot[name] ? "cannot" : "FAILED"} ${name.padEnd(9)} ${note}`);
  return failed.length;
}

function seenBefore(): Seen {
  return existsSync(SEEN) ? (JSON.parse(readFileSync(SEEN, "utf8")) as Seen) : {};
}

function keep(id: string, row: SeenRun): void {
  const before = seenBefore();
  const earlier = WAY === "http" ? before[id]?.http : before[id];
  const told = { ...row, ...(row.verdicts && { verdicts: withEarlierLong(row, earlier) }) };
  const { http, ...stdio } = before[id] ?? {};
  const both = WAY === "http" ? { ...stdio, http: told } : { ...told, ...(http && { http }) };
  const seen = { ...before, [id]: both };
  const ordered = Object.fromEntries(CLIENTS.flatMap((client) => (seen[client.id] ? [[client.id, seen[client.id]]] : [])));
  writeFileSync(SEEN, `${JSON.stringify(ordered, undefined, 1)}\n`);
}

/** A run without the long turn keeps its earlier result. */
function withEarlierLong({ verdicts, version }: SeenRun, before: SeenRun | undefined): SeenClient["verdicts"] {
  const earlier = before?.version === version ? before.verdicts?.long : undefined;
  return verdicts && longSeconds() === 0 && earlier ? { ...verdicts, long: earlier } : verdicts;
}

function page(isCheck: boolean): number {
  const text = clientsPage(CLIENTS, seenBefore());
  if (isCheck && readFileSync(PAGE, "utf8") !== text) {
    console.error(`${PAGE} does not match the results: run npm run clients -- --page`);
    return 1;
  }
  if (!isCheck) writeFileSync(PAGE, text);
  return 0;
}
