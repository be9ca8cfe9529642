import { setTimeout as sleep } from "node:timers/promises";
import type { BenchCase, CaseRun } from "../benchCase.js";
import { HttpClient } from "../httpClient.js";
import { countInTurn } from "../httpStream.js";
import type { ListeningServer } from "../listening.js";
import { pingDuring } from "../pinger.js";
import { askProbe } from "../probe.js";
import { quantile } from "../samples.js";

export const SESSIONS = {
  perSecond: "deltas/s over all sessions",
  pingIdle: "idle: ping p50, ms",
  pingLoaded: "under load: ping p99, ms",
  rssEarly: "RSS after the second round and a collection, MiB",
  rssLate: "RSS after the last round and a collection, MiB",
} as const;

const COUNT = 100;
const DELTAS = 5_000;
const ROUNDS = 5;
const EARLY_ROUND = 2;
const TURN = { prompt: `!tokens ${DELTAS}`, marker: '"type":"agent_message_content_delta"' };
const IDLE_MS = 1_500;

export const sessionsCase: BenchCase = {
  name: "sessions",
  title: "A hundred sessions that stream 5,000 deltas each",
  over: "http",
  async run(run) {
    await using server = await run.listen();
    const idle = await pingDuring(server.url, () => sleep(IDLE_MS));
    run.put(SESSIONS.pingIdle, quantile(idle.times, 0.5) ?? Number.NaN);

    const clients = await Promise.all(Array.from({ length: COUNT }, () => HttpClient.open(server.url)));
    for (let round = 1; round <= ROUNDS; round++) {
      const { times } = await pingDuring(server.url, () => streamAll(run, clients));
      run.put(SESSIONS.pingLoaded, quantile(times, 0.99) ?? Number.NaN);
      if (round === EARLY_ROUND) run.put(SESSIONS.rssEarly, await rssMiB(server));
    }
    run.put(SESSIONS.rssLate, await rssMiB(server));
  },
};

async function streamAll(run: CaseRun, clients: readonly HttpClient[]): Promise<void> {
  const began = performance.now();
  const counts = await Promise.all(clients.map((client) => countInTurn(client, TURN)));
  run.put(SESSIONS.perSecond, (COUNT * DELTAS * 1_000) / (performance.now() - began));
  const short = counts.filter((count) => count !== DELTAS);
  if (short.length > 0) throw new Error(`${short.length} of ${COUNT} sessions did not get all of ${DELTAS} deltas: ${short.join(", ")}`);
}

/** Memory after a garbage collection: the amount of garbage depends on when the last one was. */
async function rssMiB(server: ListeningServer): Promise<number> {
  return (await askProbe(server)).rss / 1_024 ** 2;
}
