import type { BenchCase, CaseRun } from "../benchCase.js";
import { HttpClient } from "../httpClient.js";
import { ask } from "../httpLoad.js";
import { treeCpuMs } from "../procfs.js";
import { quantile } from "../samples.js";

export const HTTP = {
  perSecond: (method: string) => `${method}: requests/s`,
  cpu: (method: string) => `${method}: server CPU, µs`,
  p99: (method: string) => `${method}: p99, ms`,
} as const;

export const PING = "ping";
export const TOOLS_LIST = "tools/list";

const CONNECTIONS = 16;
const WARM_UP = { connections: CONNECTIONS, forMs: 1_500 };
const MEASURED = { connections: CONNECTIONS, forMs: 3_000 };

export const httpCase: BenchCase = {
  name: "http",
  title: "Small requests on 16 keep-alive connections",
  over: "http",
  async run(run) {
    await using server = await run.listen();
    const client = await HttpClient.open(server.url);
    for (const method of [PING, TOOLS_LIST]) await measure(run, { client, method, pid: server.pid });
  },
};

async function measure(run: CaseRun, { client, method, pid }: { client: HttpClient; method: string; pid: number }): Promise<void> {
  await ask(client, method, WARM_UP);
  const cpuBefore = treeCpuMs(pid);
  const began = performance.now();
  const times = await ask(client, method, MEASURED);
  run.put(HTTP.perSecond(method), (times.length * 1_000) / (performance.now() - began));
  run.put(HTTP.cpu(method), ((treeCpuMs(pid) - cpuBefore) * 1_000) / times.length);
  run.put(HTTP.p99(method), quantile(times, 0.99) ?? Number.NaN);
}
