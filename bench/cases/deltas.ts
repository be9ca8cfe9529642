import { type BenchCase, type CaseRun, SHORT_TURN } from "../benchCase.js";
import { treeCpuMs } from "../procfs.js";

export const DELTAS = {
  perSecond: "deltas/s at the client",
  cpu: "CPU per delta, µs",
} as const;

const COUNT = 5_000;
const SERVERS = 3;

export const deltasCase: BenchCase = {
  name: "deltas",
  title: "An answer of 5,000 deltas",
  async run(run) {
    for (let n = 0; n < SERVERS; n++) await streamOnce(run);
  },
};

async function streamOnce(run: CaseRun): Promise<void> {
  await using server = await run.start();
  const { session, pid } = server;
  await session.turn(SHORT_TURN);
  session.deltas.reset();
  const cpuBefore = treeCpuMs(pid);
  await session.turn({ prompt: `!tokens ${COUNT}`, expect: `w${COUNT - 1}` });
  run.put(DELTAS.cpu, ((treeCpuMs(pid) - cpuBefore) * 1_000) / COUNT);
  run.put(DELTAS.perSecond, session.deltas.perSecond);
  if (session.deltas.count !== COUNT) throw new Error(`${session.deltas.count} of ${COUNT} deltas arrived`);
}
