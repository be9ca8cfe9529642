import { setTimeout as sleep } from "node:timers/promises";
import { type ApiDialect, dialectOf } from "../apiDialects.js";
import type { BenchCase } from "../benchCase.js";
import { incompleteStreams, readDuring } from "../eventStreams.js";
import { pingDuring } from "../pinger.js";
import { treeCpuMs, treeRssMiB } from "../procfs.js";
import { quantile } from "../samples.js";

export const API = {
  idle: "idle: small request p50, ms",
  loaded: "under load: small request p50, ms",
  loadedWorst: "under load: small request p99, ms",
  span: "50 turns of 2 s at once: all answered, s",
  cpu: "server CPU for these turns, s",
  events: "events that the 500 streams got",
  incomplete: "streams that lack an event",
  rssIdle: "RSS with 50 threads, MiB",
  rss: "RSS with 500 streams after the turns, MiB",
} as const;

const TURNS = 50;
const STREAMS = 500;
/** Ten deltas in two seconds. */
const PROMPT = "!slow 10 200";
const LAST_DELTA = "w9";
const IDLE_MS = 1_500;

/** The HTTP API and OpenCode's, with the same model: event streams and running turns. */
export const apiCase: BenchCase = {
  name: "api",
  title: "500 event streams and 50 running turns",
  over: "api",
  once: true,
  async run(run) {
    await using server = await run.listen();
    const dialect = dialectOf(run.target.name, server);
    const threads: string[] = [];
    while (threads.length < TURNS) threads.push(await dialect.newThread());
    const idle = await pingDuring(dialect.smallRequest, () => sleep(IDLE_MS));
    run.put(API.idle, quantile(idle.times, 0.5) ?? Number.NaN);
    run.put(API.rssIdle, treeRssMiB(server.pid));

    const plans = dialect.streams(threads, STREAMS);
    const cpuBefore = treeCpuMs(server.pid);
    const streams = await readDuring(plans, async () => {
      const began = performance.now();
      const { times } = await pingDuring(dialect.smallRequest, () => turnOnEach(dialect, threads));
      run.put(API.span, (performance.now() - began) / 1_000);
      run.put(API.loaded, quantile(times, 0.5) ?? Number.NaN);
      run.put(API.loadedWorst, quantile(times, 0.99) ?? Number.NaN);
      run.put(API.rss, treeRssMiB(server.pid));
    });
    run.put(API.cpu, (treeCpuMs(server.pid) - cpuBefore) / 1_000);
    run.put(
      API.events,
      streams.reduce((sum, { events }) => sum + events, 0),
    );
    const incomplete = incompleteStreams(streams, plans);
    run.put(API.incomplete, incomplete.length);
    if (incomplete.length === 0) return;
    const some = `${incomplete.length} of ${STREAMS} streams are not complete, the first with ${JSON.stringify(incomplete[0])}`;
    if (run.target.name === "ours") throw new Error(some);
    run.note(some);
  },
};

async function turnOnEach(dialect: ApiDialect, threads: readonly string[]): Promise<void> {
  const answers = await Promise.all(threads.map((thread) => dialect.turn(thread, PROMPT)));
  const wrong = answers.find((answer) => !answer.includes(LAST_DELTA));
  if (wrong !== undefined) throw new Error(`unexpected answer: ${wrong.slice(0, 300)}`);
}
