import type { BenchCase } from "./benchCase.js";
import { API, apiCase } from "./cases/api.js";
import { BURST, burstCase } from "./cases/burst.js";
import { COMMAND, commandCase } from "./cases/command.js";
import { DELTAS, deltasCase } from "./cases/deltas.js";
import { ERAS, erasCase } from "./cases/eras.js";
import { GROWTH, growthCase, LONG, longCase } from "./cases/growth.js";
import { HTTP, httpCase, PING, TOOLS_LIST } from "./cases/http.js";
import { LAYER, layerCase } from "./cases/layer.js";
import { LISTING, listingCase } from "./cases/listing.js";
import { MEMORY, memoryCase } from "./cases/memory.js";
import { SESSIONS, sessionsCase } from "./cases/sessions.js";
import { START, startCase } from "./cases/start.js";
import { STREAMS, streamsCase } from "./cases/streams.js";
import { TURNS, turnsCase } from "./cases/turns.js";
import type { Samples } from "./samples.js";
import type { TargetName } from "./targets.js";

/** A goal of our server: the ratio of one of its figures to another figure of the same run. */
interface Goal {
  readonly figure: MeasuredBy;
  readonly against: MeasuredBy & { readonly target: TargetName };
  readonly limit: { readonly atMost: number } | { readonly atLeast: number };
}

interface MeasuredBy {
  readonly by: BenchCase;
  readonly metric: string;
  /** Which of our servers; by default the usual one. */
  readonly of?: "ours-codex";
}

export interface Verdict {
  readonly what: string;
  readonly against: string;
  readonly limit: string;
  readonly ratio: number | undefined;
  readonly verdict: "met" | "missed" | "not measured";
  /** Missed by more than the noise between runs. */
  readonly beyondNoise: boolean;
}

const NOISE = 0.25;

const initialize = { by: startCase, metric: START.initialize };
const firstAnswer = { by: startCase, metric: START.firstAnswer };
const newThread = { by: turnsCase, metric: TURNS.newThread };
const reply = { by: turnsCase, metric: TURNS.reply };
const command = { by: commandCase, metric: COMMAND.fullAccess };
const sandboxedCommand = { by: commandCase, metric: COMMAND.sandboxed };
const commandLimit = { by: commandCase, metric: COMMAND.limit };
const deltasPerSecond = { by: deltasCase, metric: DELTAS.perSecond };
const cpuPerDelta = { by: deltasCase, metric: DELTAS.cpu };
const hundredAtOnce = { by: burstCase, metric: BURST.total(100) };
const idleMemory = { by: memoryCase, metric: MEMORY.idle };
const memoryPerThread = { by: memoryCase, metric: MEMORY.perThread };
const turn50 = { by: growthCase, metric: GROWTH.turn(50) };
const turn200 = { by: growthCase, metric: GROWTH.turn(200) };
const firstThousand = { by: longCase, metric: LONG.firstHalf };
const secondThousand = { by: longCase, metric: LONG.secondHalf };
const layerOverhead = { by: layerCase, metric: LAYER.overhead, of: "ours-codex" } as const;
const allowedOverhead = { by: layerCase, metric: LAYER.allowedOverhead };
const layerPerThread = { by: layerCase, metric: LAYER.perThread, of: "ours-codex" } as const;
const allowedPerThread = { by: layerCase, metric: LAYER.allowedPerThread };

const listing = (metric: string) => ({ by: listingCase, metric });

const perSecond = (method: string) => ({ by: httpCase, metric: HTTP.perSecond(method) });
const callWithSession = { by: erasCase, metric: ERAS.withSessions };
const callWithout = { by: erasCase, metric: ERAS.without };
const memoryPerStream = { by: streamsCase, metric: STREAMS.each };
const allowedPerStream = { by: streamsCase, metric: STREAMS.allowed };
const pingIdle = { by: sessionsCase, metric: SESSIONS.pingIdle };
const pingLoaded = { by: sessionsCase, metric: SESSIONS.pingLoaded };
const memoryEarly = { by: sessionsCase, metric: SESSIONS.rssEarly };
const memoryLate = { by: sessionsCase, metric: SESSIONS.rssLate };

const api = (metric: string) => ({ by: apiCase, metric });

const GOALS: readonly Goal[] = [
  goal(initialize, { atMost: 1 }, "codex-0.92-npm"),
  goal(firstAnswer, { atMost: 1 }, "codex-0.92-npm"),
  goal(newThread, { atMost: 0.25 }, "codex-0.92"),
  goal(newThread, { atMost: 3 }, "floor"),
  goal(reply, { atMost: 0.25 }, "codex-0.92"),
  goal(reply, { atMost: 3 }, "floor"),
  goal(command, { atMost: 0.35 }, "codex-0.92"),
  goal(sandboxedCommand, { atMost: 1.5 }, "ours", commandLimit),
  goal(hundredAtOnce, { atMost: 0.2 }, "codex-0.92"),
  goal(deltasPerSecond, { atLeast: 3 }, "app-server-0.166"),
  goal(cpuPerDelta, { atMost: 2.5 }, "floor"),
  goal(idleMemory, { atMost: 1 }, "codex-0.92-npm"),
  goal(memoryPerThread, { atMost: 1 }, "codex-0.92"),
  goal(turn200, { atMost: 1.3 }, "ours", turn50),
  // Each request contains the history, so the second thousand turns send three times as much as the first.
  goal(secondThousand, { atMost: 3 }, "ours", firstThousand),
  goal(layerOverhead, { atMost: 1 }, "ours-codex", allowedOverhead),
  goal(layerPerThread, { atMost: 1 }, "ours-codex", allowedPerThread),
  goal(listing(LISTING.first), { atMost: 1 }, "ours", listing(LISTING.allowedFirst)),
  goal(listing(LISTING.worst), { atMost: 1 }, "ours", listing(LISTING.allowedLater)),
  goal(listing(LISTING.search), { atMost: 1 }, "ours", listing(LISTING.allowedLater)),
  goal(listing(LISTING.search), { atMost: 0.05 }, "ours", listing(LISTING.walk)),
  goal(listing(LISTING.foreign), { atMost: 1 }, "ours", listing(LISTING.allowedFirst)),
  goal(listing(LISTING.rssLate), { atMost: 1.2 }, "ours", listing(LISTING.rssEarly)),
  // Lowered by decision 20.
  goal(perSecond(PING), { atLeast: 0.45 }, "bare-http"),
  goal(perSecond(TOOLS_LIST), { atLeast: 0.7 }, "bare-http"),
  ...[PING, TOOLS_LIST].flatMap((method) => [
    goal(perSecond(method), { atLeast: 4 }, "sdk-1"),
    goal(perSecond(method), { atLeast: 4 }, "sdk-2"),
  ]),
  goal(callWithout, { atMost: 1.3 }, "ours", callWithSession),
  goal(memoryPerStream, { atMost: 1 }, "ours", allowedPerStream),
  goal(pingLoaded, { atMost: 50 }, "ours", pingIdle),
  goal(api(API.loadedWorst), { atMost: 50 }, "ours", api(API.idle)),
  goal(api(API.loadedWorst), { atMost: 0.5 }, "opencode"),
  goal(api(API.rss), { atMost: 0.5 }, "opencode"),
  goal(memoryLate, { atMost: 1.1 }, "ours", memoryEarly),
];

export function judge(samples: Samples): Verdict[] {
  return GOALS.map(({ figure, against, limit }) => {
    const ratio = divide(
      samples.median({ ...located(figure), target: figure.of ?? "ours" }),
      samples.median({ ...located(against), target: against.target }),
    );
    const shortfall = ratio === undefined ? 0 : "atMost" in limit ? ratio / limit.atMost : limit.atLeast / ratio;
    return {
      what: figure.metric,
      against: against.metric === figure.metric ? against.target : `${against.target}, ${against.metric}`,
      limit: "atMost" in limit ? `≤ ${limit.atMost}` : `≥ ${limit.atLeast}`,
      ratio,
      verdict: ratio === undefined ? "not measured" : shortfall <= 1 ? "met" : "missed",
      beyondNoise: shortfall > 1 + NOISE,
    };
  });
}

function goal(figure: MeasuredBy, limit: Goal["limit"], target: TargetName, against: MeasuredBy = figure): Goal {
  return { figure, limit, against: { ...against, target } };
}

function located({ by, metric }: MeasuredBy): { caseName: string; metric: string } {
  return { caseName: by.name, metric };
}

function divide(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b;
}
