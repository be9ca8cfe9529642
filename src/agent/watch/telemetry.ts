import { type Log, NO_LOG } from "../../observability/log.js";
import { type Metrics, NO_METRICS } from "../../observability/metrics.js";
import { NO_TRACING, type Tracing } from "../../observability/tracing.js";

/** Where the server tells what it does. */
export interface Telemetry {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  /** Prompts and answers are logged too. */
  readonly logsContent: boolean;
}

export const NO_TELEMETRY: Telemetry = { log: NO_LOG, metrics: NO_METRICS, tracing: NO_TRACING, logsContent: false };
