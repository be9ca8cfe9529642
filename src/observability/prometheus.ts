import { METHODS } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics, Samples } from "./telemetry.js";

/** The metrics of this process in Prometheus' text format. */
export function createPrometheusMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  const make = instrumentsOf(registry);
  let samples: Samples = {};
  sampledMetrics(make, () => samples);
  return {
    ...sessionMetrics(make),
    ...callMetrics(make),
    ...turnMetrics(make),
    ...modelMetrics(make),
    ...toolMetrics(make),
    ...deliveryMetrics(make),
    ...httpMetrics(make),
    sample(more) {
      samples = { ...samples, ...more };
    },
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

type SessionMetrics = Pick<Metrics, "sessionOpened" | "sessionClosed">;
type CallMetrics = Pick<Metrics, "callRefused" | "callEnded">;
type DeliveryMetrics = Pick<Metrics, "messagesDropped" | "readerDisconnected">;
type HttpMetrics = Pick<Metrics, "httpRequestEnded" | "httpRequestRefused">;

/** Reasons are fixed words of ours; the limit guards against future ones with variable parts. */
const MAX_REASONS = 32;
const MAX_CODES = 128;

export function sessionMetrics(make: Instruments): SessionMetrics {
  const open = make.gauge("sessions_open", "Sessions by transport", ["transport"]);
  const opened = make.counter("sessions_opened_total", "Sessions opened", ["transport"]);
  const closed = make.counter("sessions_closed_total", "Sessions by the reason they ended", ["transport", "reason"]);
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
  const refused = make.counter("calls_refused_total", "Tool calls that were refused", ["reason"]);
  const ended = make.counter("calls_total", "Tool calls by tool and outcome", ["tool", "outcome"]);
  const duration = make.histogram("call_duration_seconds", "Duration of tool calls", { buckets: LONG, labels: ["tool"] });
  const errors = make.counter("call_errors_total", "Refused tool calls by error code", ["tool", "code"]);
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
  const dropped = make.counter("messages_dropped_total", "Deltas dropped for slow readers");
  const disconnected = make.counter("readers_disconnected_total", "Slow readers that were disconnected", ["reason"]);
  const reasons = new BoundedLabel(MAX_REASONS);
  return {
    messagesDropped: (count) => dropped.inc(count),
    readerDisconnected: ({ reason }) => disconnected.inc({ reason: reasons.of(reason) }),
  };
}

const KNOWN_METHODS = new Set(METHODS);
const MAX_ROUTES = 64;

export function httpMetrics(make: Instruments): HttpMetrics {
  const ended = make.counter("http_requests_total", "HTTP requests", ["route", "method", "status"]);
  const duration = make.histogram("http_request_duration_seconds", "Duration of HTTP requests, including streams", {
    buckets: SHORT,
    labels: ["route"],
  });
  const routes = new BoundedLabel(MAX_ROUTES);
  const refused = make.counter("http_requests_refused_total", "Requests refused before their body was read", ["reason"]);
  const reasons = new BoundedLabel(MAX_REASONS);
  return {
    httpRequestEnded({ route: pattern, method, status, ms }) {
      const route = routes.of(pattern);
      ended.inc({ route, method: KNOWN_METHODS.has(method) ? method : "other", status });
      duration.observe({ route }, ms / 1_000);
    },
    httpRequestRefused: ({ reason }) => refused.inc({ reason: reasons.of(reason) }),
  };
}

export function sampledMetrics(make: Instruments, samples: () => Samples): void {
  make.sampledGauge("streams_open", "Open event streams (SSE)", () => samples().streamsOpen?.() ?? 0);
  make.sampledGauge("websockets_open", "WebSocket connections", () => samples().webSocketsOpen?.() ?? 0);
  make.sampledGauge("reader_queue_max", "The longest queue of any reader", () => samples().longestReaderQueue?.() ?? 0);
  make.sampledGauge(
    "calls_waiting",
    "Tool calls that wait because their caller has reached its limit",
    () => samples().callsWaiting?.() ?? 0,
  );
  make.sampledGauge("threads_loaded", "Threads in memory", () => samples().threadsLoaded?.() ?? 0);
  make.sampledGauge("log_lines_lost", "Log lines that could not be written since the start", () => samples().logLinesLost?.() ?? 0);
}

/** The limit of distinct model labels; a caller can name any model. */
const MAX_MODELS = 24;

type TurnMetrics = Pick<Metrics, "turnQueued" | "turnStarted" | "turnEnded" | "approvalAsked" | "approvalSettled">;
type ModelMetrics = Pick<Metrics, "modelCallEnded" | "tokensUsed">;
type ToolMetrics = Pick<Metrics, "commandStarted" | "commandEnded" | "patchEnded" | "toolCallEnded">;

export function turnMetrics(make: Instruments): TurnMetrics {
  const queued = make.gauge("turns_queued", "Turns queued behind another one on their thread");
  const running = make.gauge("turns_running", "Running turns");
  const ended = make.counter("turns_ended_total", "Turns by outcome", ["outcome"]);
  const duration = make.histogram("turn_duration_seconds", "Duration of turns", { buckets: LONG, labels: ["outcome"] });
  const pending = make.gauge("approvals_pending", "Open questions");
  const answered = make.counter("approvals_answered_total", "Questions by decider and decision", ["channel", "decision"]);
  const wait = make.histogram("approval_wait_seconds", "Time from a question to its answer", { buckets: LONG, labels: ["channel"] });
  const channels = new BoundedLabel(16);
  return {
    turnQueued: () => queued.inc(),
    turnStarted() {
      queued.dec();
      running.inc();
    },
    turnEnded({ outcome, ms }) {
      running.dec();
      ended.inc({ outcome });
      duration.observe({ outcome }, ms / 1_000);
    },
    approvalAsked: () => pending.inc(),
    approvalSettled({ channel, decision, ms }) {
      pending.dec();
      answered.inc({ channel: channels.of(channel), decision });
      wait.observe({ channel: channels.of(channel) }, ms / 1_000);
    },
  };
}

export function modelMetrics(make: Instruments): ModelMetrics {
  const calls = make.counter("model_calls_total", "Model requests by outcome", ["model", "outcome"]);
  const duration = make.histogram("model_call_seconds", "Duration of model requests", {
    buckets: LONG,
    labels: ["model"],
  });
  const firstToken = make.histogram("model_first_token_seconds", "Time from a model request to its first delta", {
    buckets: LONG,
    labels: ["model"],
  });
  const tokens = make.counter("tokens_total", "Tokens by kind; cached ones are input too, reasoning ones output", ["kind"]);
  const models = new BoundedLabel(MAX_MODELS);
  return {
    modelCallEnded({ model: name, outcome, ms, firstTokenMs }) {
      const model = models.of(name);
      calls.inc({ model, outcome });
      duration.observe({ model }, ms / 1_000);
      if (firstTokenMs !== undefined) firstToken.observe({ model }, firstTokenMs / 1_000);
    },
    tokensUsed({ input, cachedInput, output, reasoning }) {
      tokens.inc({ kind: "input" }, input);
      tokens.inc({ kind: "cached_input" }, cachedInput);
      tokens.inc({ kind: "output" }, output);
      tokens.inc({ kind: "reasoning" }, reasoning);
    },
  };
}

export function toolMetrics(make: Instruments): ToolMetrics {
  const running = make.gauge("commands_running", "Running commands");
  const commands = make.counter("commands_ended_total", "Commands by outcome", ["outcome"]);
  const duration = make.histogram("command_duration_seconds", "Duration of commands", { buckets: LONG });
  const patches = make.counter("patches_total", "Patches by outcome", ["outcome"]);
  const toolCalls = make.counter("agent_tool_calls_total", "Calls to the agent's own MCP servers", ["outcome"]);
  const toolDuration = make.histogram("agent_tool_call_seconds", "Duration of calls to the agent's own MCP servers", { buckets: LONG });
  return {
    commandStarted: () => running.inc(),
    commandEnded({ outcome, ms }) {
      running.dec();
      commands.inc({ outcome });
      duration.observe(ms / 1_000);
    },
    patchEnded: ({ outcome }) => patches.inc({ outcome }),
    toolCallEnded({ outcome, ms }) {
      toolCalls.inc({ outcome });
      toolDuration.observe(ms / 1_000);
    },
  };
}

/** The prefix of every metric name. */
export const PREFIX = "codex_mcp_";

/** Buckets in seconds, for work inside this program. */
export const SHORT = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120];
/** Buckets in seconds, for waiting on models and people. */
export const LONG = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** Creates the instruments of one registry. */
export interface Instruments {
  counter<Label extends string = never>(name: string, help: string, labels?: readonly Label[]): Counter<Label>;
  gauge<Label extends string = never>(name: string, help: string, labels?: readonly Label[]): Gauge<Label>;
  /** A gauge whose value is read at each scrape. */
  sampledGauge(name: string, help: string, value: () => number): Gauge;
  histogram<Label extends string = never>(name: string, help: string, shape: Shape<Label>): Histogram<Label>;
}

export interface Shape<Label extends string> {
  readonly buckets: readonly number[];
  readonly labels?: readonly Label[];
}

export function instrumentsOf(registry: Registry): Instruments {
  const registers = [registry];
  return {
    counter: (name, help, labels = []) => new Counter({ name: PREFIX + name, help, labelNames: [...labels], registers }),
    gauge: (name, help, labels = []) => new Gauge({ name: PREFIX + name, help, labelNames: [...labels], registers }),
    sampledGauge: (name, help, value) =>
      new Gauge({
        name: PREFIX + name,
        help,
        registers,
        collect() {
          this.set(value());
        },
      }),
    histogram: (name, help, { buckets, labels = [] }) =>
      new Histogram({ name: PREFIX + name, help, buckets: [...buckets], labelNames: [...labels], registers }),
  };
}

/**
 * Limits the values of one label: the first few are kept, the rest are counted together, so that callers cannot fill the memory with names.
 */
export class BoundedLabel {
  readonly #values = new Set<string>();

  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(value: string): string {
    if (this.#values.has(value)) return value;
    if (this.#values.size >= this.#most) return "other";
    this.#values.add(value);
    return value;
  }
}
