import { describe } from "../../src/lib/errors.js";
import { type BenchCase, SHORT_TURN, timedMs } from "../benchCase.js";
import { treePeakRssMiB } from "../procfs.js";

export const PROMPT = { turn: "5 MB prompt, ms", peak: "5 MB prompt: peak RSS, MiB" } as const;

const BYTES = 5_000_000;
const LINE = "the quick brown fox jumps over the lazy dog, again and again\n";

export const promptCase: BenchCase = {
  name: "prompt",
  title: "A prompt of 5 MB",
  async run(run) {
    await using server = await run.start();
    const { session, pid } = server;
    await session.turn(SHORT_TURN);
    const prompt = `!say ok\n${LINE.repeat(BYTES / LINE.length)}`;
    try {
      run.put(PROMPT.turn, await timedMs(() => session.turn({ prompt, expect: "ok" })));
      run.put(PROMPT.peak, treePeakRssMiB(pid));
    } catch (error) {
      run.note(`5 MB prompt: ${describe(error).slice(0, 160)}`);
    }
  },
};
