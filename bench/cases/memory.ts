import { setTimeout as sleep } from "node:timers/promises";
import { type BenchCase, SHORT_TURN } from "../benchCase.js";
import { treeRssMiB } from "../procfs.js";

export const MEMORY = {
  idle: "idle RSS, MiB",
  after: (threads: number) => `RSS after ${threads} ${threads === 1 ? "thread" : "threads"}, MiB`,
  perThread: "RSS per thread, 11th to 100th, KiB",
} as const;

const IDLE_MS = 1_000;
const SETTLE_MS = 500;
const FEW = 10;
const MANY = 100;

export const memoryCase: BenchCase = {
  name: "memory",
  title: "Memory of the process and its children",
  async run(run) {
    await using server = await run.start();
    await sleep(IDLE_MS);
    run.put(MEMORY.idle, treeRssMiB(server.pid));

    let started = 0;
    const rssAfter = async (threads: number) => {
      for (; started < threads; started++) await server.session.turn(SHORT_TURN);
      await sleep(SETTLE_MS);
      const rss = treeRssMiB(server.pid);
      run.put(MEMORY.after(threads), rss);
      return rss;
    };
    await rssAfter(1);
    const few = await rssAfter(FEW);
    const many = await rssAfter(MANY);
    run.put(MEMORY.perThread, ((many - few) * 1024) / (MANY - FEW));
  },
};
