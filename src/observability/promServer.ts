import { BoundedLabel } from "./boundedLabel.js";
import { type Instruments, LONG } from "./instruments.js";
import type { Metrics, Samples } from "./metrics.js";
import type { RequestTally } from "./requestTally.js";

type SessionMetrics = Pick<Metrics, "sessionOpened" | "sessionClosed">;
type CallMetrics = Pick<Metrics, "callRefused" | "callEnded">;
type DeliveryMetrics = Pick<Metrics, "messagesDropped" | "readerDisconnected">;
type HttpMetrics = Pick<Metrics, "httpRequestEnded" | "httpRequestRefused">;

/** Reasons are words of ours; the limit is for the day one is built from something else. */
const MAX_REASONS = 32;
const MAX_CODES = 128;

export function sessionMetrics(make: Instruments): SessionMetrics {
  const open = make.gauge("sessions_open", "Sessions by transport", ["transport"]);
  const opened = make.counter("sessions_opened_total", "Sessions opened", ["transport"]);
  const closed = make.counter("sessions_closed_total", "Sessions by why they ended", ["transport", "reason"]);
  const reasons = new BoundedLabel(MAX_REASONS);
  return {
    sessionOpened({ transport }) {
      open.inc({ transport });
      opened.inc({ transport });
    },
    sessionClosed({ transport, reason }) {
      open.dec({ transport });
      closed.inc({ transport, reason: reasons.of(reason) });
    },
  };
}

export function callMetrics(make: Instruments): CallMetrics {
  const refused = make.counter("calls_refused_total", "Tool calls that were turned away", ["reason"]);
  const ended = make.counter("calls_total", "Tool calls by tool and outcome", ["tool", "outcome"]);
  const duration = make.histogram("call_duration_seconds", "From a tool call to its answer", { buckets: LONG, labels: ["tool"] });
  const errors = make.counter("call_errors_total", "Tool calls that were refused, by the error's code", ["tool", "code"]);
  const tools = new BoundedLabel(64);
  const codes = new BoundedLabel(MAX_CODES);
  const reasons = new BoundedLabel(MAX_REASONS);
  return {
    callRefused: ({ reason }) => refused.inc({ reason: reasons.of(reason) }),
    callEnded({ tool, outcome, ms, code }) {
      ended.inc({ tool: tools.of(tool), outcome });
      if (code !== undefined) errors.inc({ tool: tools.of(tool), code: codes.of(code) });
      duration.observe({ tool: tools.of(tool) }, ms / 1_000);
    },
  };
}

export function deliveryMetrics(make: Instruments): DeliveryMetrics {
  const dropped = make.counter("messages_dropped_total", "Pieces of text that slow readers did not get");
  const disconnected = make.counter("readers_disconnected_total", "Readers that were cut off", ["reason"]);
  const reasons = new BoundedLabel(MAX_REASONS);
  return {
    messagesDropped: (count) => dropped.inc(count),
    readerDisconnected: ({ reason }) => disconnected.inc({ reason: reasons.of(reason) }),
  };
}

export function httpMetrics(make: Instruments, tally: RequestTally): HttpMetrics {
  const refused = make.counter("http_requests_refused_total", "Requests turned away before their body was read", ["reason"]);
  const reasons = new BoundedLabel(MAX_REASONS);
  return {
    httpRequestEnded: (request) => tally.note(request),
    httpRequestRefused: ({ reason }) => refused.inc({ reason: reasons.of(reason) }),
  };
}

export function sampledMetrics(make: Instruments, samples: () => Samples): void {
  make.sampledGauge("streams_open", "Event streams (SSE) that are open", () => samples().streamsOpen?.() ?? 0);
  make.sampledGauge("websockets_open", "WebSocket connections", () => samples().webSocketsOpen?.() ?? 0);
  make.sampledGauge("reader_queue_max", "The longest queue of any reader", () => samples().longestReaderQueue?.() ?? 0);
  make.sampledGauge("calls_waiting", "Tool calls that wait because enough of their caller run", () => samples().callsWaiting?.() ?? 0);
  make.sampledGauge("threads_loaded", "Threads in memory", () => samples().threadsLoaded?.() ?? 0);
  make.sampledGauge("log_lines_lost", "Log lines that could not be written since the start", () => samples().logLinesLost?.() ?? 0);
}
