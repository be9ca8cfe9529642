import { setTimeout as sleep } from "node:timers/promises";
import { type CrowdOptions, crowd } from "./crowd.js";
import { type Holdings, type SoakServer, startSoakServer } from "./server.js";

export interface SoakOptions extends Pick<CrowdOptions, "size" | "restMs"> {
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly told?: (line: string) => void;
}

export interface SoakReport {
  readonly visits: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  readonly sessionsLeft: number;
  /** The resources of the idle server before and after the soak. */
  readonly before: Holdings;
  readonly after: Holdings;
  readonly errors: string;
}

/** Everything that was left open ends by itself within this time. */
const QUIET_DEADLINE_MS = 45_000;
const LOOK_EVERY_MS = 500;
/** Time for the last timers and connections to end after the last session. */
const SETTLE_MS = 3_000;

/** Starts a server, warms it up with a crowd, measures its resources, runs the crowd for longer, and measures again. */
export async function soak({ warmUpSeconds, seconds, size, restMs, told = () => {} }: SoakOptions): Promise<SoakReport> {
  await using server = await startSoakServer();
  const { url } = server;
  told(`warming up for ${warmUpSeconds} s`);
  const warmUp = await crowd({ url, seconds: warmUpSeconds, size, restMs, seed: 1 });
  await quiet(server);
  const before = await server.holdings();
  told(`${size} clients at once for ${seconds} s; the server holds ${describeHoldings(before)}`);
  const { visits, failures } = await crowd({ url, seconds, size, restMs, seed: 2 });
  const sessionsLeft = await quiet(server);
  const after = await server.holdings();
  told(`now it holds ${describeHoldings(after)}`);
  return { visits, failures: [...warmUp.failures, ...failures], sessionsLeft, before, after, errors: server.errors };
}

/** Resolves with the number of sessions that did not end. */
async function quiet(server: SoakServer): Promise<number> {
  const until = performance.now() + QUIET_DEADLINE_MS;
  while ((await server.sessions()) > 0 && performance.now() < until) await sleep(LOOK_EVERY_MS);
  await sleep(SETTLE_MS);
  return server.sessions();
}

function describeHoldings({ rss, heapUsed, resources, descriptors, children }: Holdings): string {
  const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  return `RSS ${mib(rss)}, heap ${mib(heapUsed)}, ${descriptors.length} descriptors, ${children} children, ${JSON.stringify(resources)}`;
}
