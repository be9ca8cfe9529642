import { type BenchCase, type CaseRun, SHORT_TURN } from "../benchCase.js";

export const START = {
  initialize: "spawn to initialize answer, ms",
  firstAnswer: "spawn to first turn's answer, ms",
  unusedHome: "initialize in an unused home, ms",
} as const;

const STARTS_IN_USED_HOME = 5;
const STARTS_IN_UNUSED_HOME = 2;

export const startCase: BenchCase = {
  name: "start",
  title: "Start of the process",
  async run(run) {
    for (let n = 0; n < STARTS_IN_USED_HOME; n++) await startAndAsk(run);
    for (let n = 0; n < STARTS_IN_UNUSED_HOME; n++) {
      await using server = await run.start("unused");
      run.put(START.unusedHome, server.initializeMs);
    }
  },
};

async function startAndAsk(run: CaseRun): Promise<void> {
  await using server = await run.start();
  await server.session.turn(SHORT_TURN);
  run.put(START.initialize, server.initializeMs);
  run.put(START.firstAnswer, server.msSinceSpawn());
}
