import { METHODS } from "node:http";
import { collectDefaultMetrics, Registry } from "prom-client";
import { BoundedLabel, type Instruments, instrumentsOf, LONG, PREFIX, SHORT } from "./instruments.js";
import type { Metrics, Samples } from "./telemetry.js";

/** The numbers of this process in Prometheus' text form. */
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

const KNOWN_METHODS = new Set(METHODS);
const MAX_ROUTES = 64;

export function httpMetrics(make: Instruments): HttpMetrics {
  const ended = make.counter("http_requests_total", "HTTP requests", ["route", "method", "status"]);
  const duration = make.histogram("http_request_duration_seconds", "From a request's head to the end of its answer, streams included", {
    buckets: SHORT,
    labels: ["route"],
  });
  const routes = new BoundedLabel(MAX_ROUTES);
  const refused = make.counter("http_requests_refused_total", "Requests turned away before their body was read", ["reason"]);
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
  make.sampledGauge("streams_open", "Event streams (SSE) that are open", () => samples().streamsOpen?.() ?? 0);
  make.sampledGauge("websockets_open", "WebSocket connections", () => samples().webSocketsOpen?.() ?? 0);
  make.sampledGauge("reader_queue_max", "The longest queue of any reader", () => samples().longestReaderQueue?.() ?? 0);
  make.sampledGauge("calls_waiting", "Tool calls that wait because enough of their caller run", () => samples().callsWaiting?.() ?? 0);
  make.sampledGauge("threads_loaded", "Threads in memory", () => samples().threadsLoaded?.() ?? 0);
  make.sampledGauge("log_lines_lost", "Log lines that could not be written since the start", () => samples().logLinesLost?.() ?? 0);
}

/** Different models that are told apart; a caller can name any. */
const MAX_MODELS = 24;

type TurnMetrics = Pick<Metrics, "turnQueued" | "turnStarted" | "turnEnded" | "approvalAsked" | "approvalSettled">;
type ModelMetrics = Pick<Metrics, "modelCallEnded" | "tokensUsed">;
type ToolMetrics = Pick<Metrics, "commandStarted" | "commandEnded" | "patchEnded" | "toolCallEnded">;

export function turnMetrics(make: Instruments): TurnMetrics {
  const queued = make.gauge("turns_queued", "Turns that wait for the one before them on their thread");
  const running = make.gauge("turns_running", "Turns that run");
  const ended = make.counter("turns_ended_total", "Turns by how they ended", ["outcome"]);
  const duration = make.histogram("turn_duration_seconds", "From a turn's start to its end", { buckets: LONG, labels: ["outcome"] });
  const pending = make.gauge("approvals_pending", "Questions that wait for an answer");
  const answered = make.counter("approvals_answered_total", "Questions by who decided and how", ["door", "decision"]);
  const wait = make.histogram("approval_wait_seconds", "From a question to its answer", { buckets: LONG, labels: ["door"] });
  const doors = new BoundedLabel(16);
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
    approvalSettled({ door, decision, ms }) {
      pending.dec();
      answered.inc({ door: doors.of(door), decision });
      wait.observe({ door: doors.of(door) }, ms / 1_000);
    },
  };
}

export function modelMetrics(make: Instruments): ModelMetrics {
  const calls = make.counter("model_calls_total", "Requests to the model by how they ended", ["model", "outcome"]);
  const duration = make.histogram("model_call_seconds", "From a request to the model to the end of its answer", {
    buckets: LONG,
    labels: ["model"],
  });
  const firstToken = make.histogram("model_first_token_seconds", "From a request to the model to the first piece of its answer", {
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
  const running = make.gauge("commands_running", "Commands of turns that run");
  const commands = make.counter("commands_ended_total", "Commands by how they ended", ["outcome"]);
  const duration = make.histogram("command_duration_seconds", "From a command's start to its end", { buckets: LONG });
  const patches = make.counter("patches_total", "Patches by what became of them", ["outcome"]);
  const toolCalls = make.counter("agent_tool_calls_total", "Calls to the agent's own MCP servers", ["outcome"]);
  const toolDuration = make.histogram("agent_tool_call_seconds", "How long calls to the agent's own MCP servers took", { buckets: LONG });
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
