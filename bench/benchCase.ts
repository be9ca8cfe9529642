import type { ListeningServer } from "./listening.js";
import type { Session } from "./session.js";
import type { Target } from "./targets.js";

/** A server that runs and has answered `initialize`; it ends when disposed. */
export interface StartedServer extends AsyncDisposable {
  readonly pid: number;
  readonly session: Session;
  readonly initializeMs: number;
  msSinceSpawn(): number;
}

/** What a case has to work with: one server program, and a place for its figures. */
export interface CaseRun {
  readonly target: Target;
  /** In a home that was used before, as a user's is, unless told otherwise. */
  start(home?: "used" | "unused"): Promise<StartedServer>;
  /** In a home of this name, which `prepare` fills before the first server runs in it. */
  startPrepared(home: PreparedHome): Promise<StartedServer>;
  /** The program that the target drives, spoken to directly, in a home of its own. */
  startDriven(): Promise<StartedServer>;
  /** On a port, for cases over HTTP. */
  listen(): Promise<ListeningServer>;
  /** A NaN is what this system cannot tell, and is left out. */
  put(metric: string, value: number): void;
  /** A remark shown under the table. */
  note(text: string): void;
}

export interface PreparedHome {
  readonly name: string;
  readonly prepare: (codexHome: string) => void;
}

export interface BenchCase {
  readonly name: string;
  readonly title: string;
  /** What the servers are spoken to over: stdio unless it says otherwise. */
  readonly over?: "http";
  run(run: CaseRun): Promise<void>;
}

/** The shortest exchange there is: what it costs is the server's own. */
export const SHORT_TURN = { prompt: "!say hi", expect: "hi" };

export async function timedMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
