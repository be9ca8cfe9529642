import { setTimeout as sleep } from "node:timers/promises";
import { type BenchCase, type CaseRun, SHORT_TURN, type StartedServer, timedMs } from "../benchCase.js";
import { ownCpuMs, ownRssMiB } from "../procfs.js";
import { quantile } from "../samples.js";

export const LAYER = {
  reply: "reply, ms",
  driven: "the same, spoken to Codex directly, ms",
  overhead: "what our layer adds to a reply (p50), ms",
  allowedOverhead: "allowed, ms",
  cpu: "CPU of our process alone per reply, ms",
  perThread: "RSS of our process alone per idle thread, 11th to 100th, KiB",
  allowedPerThread: "allowed, KiB",
} as const;

const ALLOWED_MS = 5;
const ALLOWED_KIB = 200;
const WARM_UPS = 10;
const REPLIES = 40;
const FEW = 10;
const MANY = 100;
const SETTLE_MS = 1_000;
/** Codex writes to disk after it has answered. */
const AFTERMATH_MS = 60;

/** A server that drives a Codex, compared with that Codex driven by the benchmark itself. */
export const layerCase: BenchCase = {
  name: "layer",
  title: "Our layer around the real Codex",
  async run(run) {
    if (!run.target.drives) return;
    await measureOverhead(run);
    await measureMemory(run);
  },
};

/** The two alternate, so that other load on the machine affects both equally. */
async function measureOverhead(run: CaseRun): Promise<void> {
  await using ours = await run.start();
  await using driven = await run.startDriven();
  const replyTo = async ({ session }: StartedServer) => {
    const threadId = await session.turn(SHORT_TURN);
    return async () => {
      const ms = await timedMs(() => session.turn({ ...SHORT_TURN, threadId }));
      await sleep(AFTERMATH_MS);
      return ms;
    };
  };
  const [reply, drivenReply] = [await replyTo(ours), await replyTo(driven)];
  for (let n = 0; n < WARM_UPS; n++) {
    await reply();
    await drivenReply();
  }
  const times = { [LAYER.reply]: [] as number[], [LAYER.driven]: [] as number[] };
  const cpu = ownCpuMs(ours.pid);
  const measureOne = async () => times[LAYER.reply].push(await reply());
  const measureOther = async () => times[LAYER.driven].push(await drivenReply());
  for (let n = 0; n < REPLIES; n++) {
    const order = n % 2 === 0 ? [measureOne, measureOther] : [measureOther, measureOne];
    for (const measure of order) await measure();
  }
  run.put(LAYER.cpu, (ownCpuMs(ours.pid) - cpu) / REPLIES);
  for (const [metric, values] of Object.entries(times)) for (const value of values) run.put(metric, value);
  run.put(LAYER.overhead, median(times[LAYER.reply]) - median(times[LAYER.driven]));
  run.put(LAYER.allowedOverhead, ALLOWED_MS);
}

async function measureMemory(run: CaseRun): Promise<void> {
  await using server = await run.start();
  let started = 0;
  const kibWith = async (threads: number) => {
    for (; started < threads; started++) await server.session.turn(SHORT_TURN);
    await sleep(SETTLE_MS);
    return ownRssMiB(server.pid) * 1_024;
  };
  const few = await kibWith(FEW);
  const many = await kibWith(MANY);
  run.put(LAYER.perThread, (many - few) / (MANY - FEW));
  run.put(LAYER.allowedPerThread, ALLOWED_KIB);
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5) ?? Number.NaN;
}
