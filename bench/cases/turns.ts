import { type BenchCase, SHORT_TURN, timedMs } from "../benchCase.js";
import { treeCpuMs } from "../procfs.js";

export const TURNS = {
  newThread: "new thread, ms",
  newThreadCpu: "CPU per new thread, ms",
  reply: "reply, ms",
  replyCpu: "CPU per reply, ms",
} as const;

const NEW_THREADS = 10;
const REPLIES = 20;

export const turnsCase: BenchCase = {
  name: "turns",
  title: "One turn at a time",
  async run(run) {
    await using server = await run.start();
    const { session, pid } = server;
    const threadId = await session.turn(SHORT_TURN);

    const cpuBeforeThreads = treeCpuMs(pid);
    for (let n = 0; n < NEW_THREADS; n++) run.put(TURNS.newThread, await timedMs(() => session.turn(SHORT_TURN)));
    const cpuBeforeReplies = treeCpuMs(pid);
    for (let n = 0; n < REPLIES; n++) run.put(TURNS.reply, await timedMs(() => session.turn({ ...SHORT_TURN, threadId })));

    run.put(TURNS.newThreadCpu, (cpuBeforeReplies - cpuBeforeThreads) / NEW_THREADS);
    run.put(TURNS.replyCpu, (treeCpuMs(pid) - cpuBeforeReplies) / REPLIES);
  },
};
