import { monotonicMs } from "../../lib/monotonicMs.js";
import type { Log } from "../../observability/log.js";
import type { Span } from "../../observability/tracing.js";
import type { TurnOutcome } from "../../threads/events.js";
import type { Telemetry } from "./telemetry.js";

/** What the watchers of one turn share; the log's lines carry the turn's ids, new spans belong into `span`. */
export interface TurnScope extends Telemetry {
  readonly log: Log;
  readonly span: Span;
  readonly ended: ((outcome: TurnOutcome["status"]) => void) | undefined;
}

const ORIGIN = Date.now() - monotonicMs();

/** Milliseconds since 1970 that never go back, whatever happens to the clock. */
export function now(): number {
  return ORIGIN + monotonicMs();
}

export function msSince(start: number): number {
  return Math.round(now() - start);
}
