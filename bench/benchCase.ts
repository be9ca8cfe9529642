import type { ListeningServer } from "./listening.js";
import type { Session } from "./session.js";
import type { Target } from "./targets.js";

/** A running server that has answered `initialize`; it ends when disposed. */
export interface StartedServer extends AsyncDisposable {
  readonly pid: number;
  readonly session: Session;
  readonly initializeMs: number;
  msSinceSpawn(): number;
}

/** The context of a case: one server program, and where its figures go. */
export interface CaseRun {
  readonly target: Target;
  /** Starts it in a home that was used before, as a user's is, unless an option says otherwise. */
  start(home?: "used" | "unused"): Promise<StartedServer>;
  /** Starts it in the home of this name, which `prepare` fills before the first server runs in it. */
  startPrepared(home: PreparedHome): Promise<StartedServer>;
  /** Starts the program that the target drives, without the target, in a home of its own. */
  startDriven(): Promise<StartedServer>;
  /** Starts it on a port, for cases over HTTP. */
  listen(): Promise<ListeningServer>;
  /** NaN means that this system cannot measure the figure; it is left out. */
  put(metric: string, value: number): void;
  /** A remark shown under the table. */
  note(text: string): void;
}

export interface PreparedHome {
  readonly name: string;
  readonly prepare: (codexHome: string) => Promise<void>;
}

export interface BenchCase {
  readonly name: string;
  readonly title: string;
  /** The transport, stdio by default; `api` is a server's own HTTP API, `http` is MCP over HTTP. */
  readonly over?: "stdio" | "http" | "api";
  /** Runs in the first round only: it takes long, and one run has enough samples. */
  readonly once?: true;
  run(run: CaseRun): Promise<void>;
}

/** The shortest possible exchange, so that its cost is the server's own. */
export const SHORT_TURN = { prompt: "!say hi", expect: "hi" };

export async function timedMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
