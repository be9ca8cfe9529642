import { type BenchCase, type CaseRun, SHORT_TURN, timedMs } from "../benchCase.js";
import { quantile } from "../samples.js";

export const GROWTH = { turn: (number: number) => `turn ${number}, ms` } as const;

export const LONG = {
  turn: (number: number) => `turn ${number}, ms`,
  total: "2,000 turns in all, s",
  firstHalf: "turns 1 to 1,000, s",
  secondHalf: "turns 1,001 to 2,000, s",
} as const;

export const growthCase: BenchCase = {
  name: "growth",
  title: "A thread that grows",
  async run(run) {
    const times = await turnTimes(run, 200);
    run.put(GROWTH.turn(1), times[0] ?? Number.NaN);
    for (const number of [50, 200]) run.put(GROWTH.turn(number), around(times, number));
  },
};

export const longCase: BenchCase = {
  name: "long",
  title: "2,000 turns on one thread",
  async run(run) {
    const times = await turnTimes(run, 2_000);
    for (const number of [200, 1_000, 2_000]) run.put(LONG.turn(number), around(times, number));
    run.put(LONG.firstHalf, seconds(times.slice(0, 1_000)));
    run.put(LONG.secondHalf, seconds(times.slice(1_000)));
    run.put(LONG.total, seconds(times));
  },
};

async function turnTimes(run: CaseRun, count: number): Promise<number[]> {
  await using server = await run.start();
  const times: number[] = [];
  let threadId: string | undefined;
  for (let n = 0; n < count; n++) {
    const ms = await timedMs(async () => {
      threadId = await server.session.turn({ ...SHORT_TURN, threadId });
    });
    times.push(ms);
  }
  return times;
}

/** The median of the ten turns up to this one: a single turn is mostly noise. */
function around(times: readonly number[], number: number): number {
  return quantile(times.slice(number - 10, number), 0.5) ?? Number.NaN;
}

function seconds(times: readonly number[]): number {
  return times.reduce((sum, ms) => sum + ms, 0) / 1_000;
}
