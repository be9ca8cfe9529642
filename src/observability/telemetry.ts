import { isFields } from "../lib/fields.js";
import { type Log, NO_LOG } from "./log.js";

/** How a client is connected. */
export type TransportName = "stdio" | "http" | "websocket" | "sse";

/** How long something took, in milliseconds. */
interface Timed {
  readonly ms: number;
}

/**
 * What the server counts and measures. Every function returns at once and never throws. Values that callers or models can choose
 * (`model`, `route`, `tool`, `reason`) are kept apart only up to a small number of different ones, and counted as `other` beyond it.
 */
export interface Metrics {
  sessionOpened(session: { readonly transport: TransportName }): void;
  sessionClosed(session: { readonly transport: TransportName; readonly reason: string }): void;

  callRefused(call: { readonly reason: string }): void;
  callEnded(
    call: Timed & { readonly tool: string; readonly outcome: "ok" | "error" | "cancelled"; readonly code?: string | undefined },
  ): void;

  turnQueued(): void;
  /** It has left the queue. */
  turnStarted(): void;
  turnEnded(turn: Timed & { readonly outcome: "completed" | "failed" | "interrupted" }): void;
  approvalAsked(): void;
  approvalSettled(approval: Timed & { readonly door: string; readonly decision: string }): void;
  modelCallEnded(
    call: Timed & {
      readonly model: string;
      readonly outcome: "answered" | "retried" | "failed" | "interrupted";
      /** Absent when nothing came. */
      readonly firstTokenMs?: number | undefined;
    },
  ): void;
  tokensUsed(tokens: { readonly input: number; readonly cachedInput: number; readonly output: number; readonly reasoning: number }): void;
  commandStarted(): void;
  commandEnded(command: Timed & { readonly outcome: "succeeded" | "failed" | "interrupted" | "left running" }): void;
  patchEnded(patch: { readonly outcome: "applied" | "failed" | "interrupted" }): void;
  toolCallEnded(call: Timed & { readonly outcome: "ok" | "error" | "interrupted" }): void;

  /** Deltas that a slow reader did not get. */
  messagesDropped(count: number): void;
  readerDisconnected(reader: { readonly reason: string }): void;

  /** `route` is the route's pattern, never the path that was asked for. */
  httpRequestEnded(request: Timed & { readonly route: string; readonly method: string; readonly status: number }): void;
  /** Turned away before its body was looked at: host, origin, token, rate. */
  httpRequestRefused(request: { readonly reason: string }): void;

  /** Values that are asked for when somebody looks. A later call replaces what an earlier one gave. */
  sample(samples: Samples): void;
  /** What `/metrics` answers. */
  render(): Promise<MetricsPage>;
}

export interface Samples {
  /** Event streams (SSE) and WebSockets that are open. */
  readonly streamsOpen?: () => number;
  readonly webSocketsOpen?: () => number;
  /** The longest queue of any reader at this moment. */
  readonly longestReaderQueue?: () => number;
  /** Tool calls that wait because their session or principal has enough running. */
  readonly callsWaiting?: () => number;
  /** Log lines that could not be written since the start. */
  readonly logLinesLost?: () => number;
  /** Threads in memory. */
  readonly threadsLoaded?: () => number;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly text: string;
}

const nothing = (): void => undefined;

/** Measures nothing, for servers whose numbers nobody can ask for. */
export const NO_METRICS: Metrics = {
  sessionOpened: nothing,
  sessionClosed: nothing,
  callRefused: nothing,
  callEnded: nothing,
  turnQueued: nothing,
  turnStarted: nothing,
  turnEnded: nothing,
  approvalAsked: nothing,
  approvalSettled: nothing,
  modelCallEnded: nothing,
  tokensUsed: nothing,
  commandStarted: nothing,
  commandEnded: nothing,
  patchEnded: nothing,
  toolCallEnded: nothing,
  messagesDropped: nothing,
  readerDisconnected: nothing,
  httpRequestEnded: nothing,
  httpRequestRefused: nothing,
  sample: nothing,
  render: async () => ({ contentType: "text/plain; charset=utf-8", text: "" }),
};

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  readonly parent?: TraceContext | undefined;
  /** `server`: somebody asked us; `client`: we ask somebody; else inside. */
  readonly kind?: "server" | "client" | "internal";
  readonly attributes?: SpanAttributes;
  /** Milliseconds since 1970, for what is only known afterwards. */
  readonly startedAt?: number;
}

/** A stretch of work in a trace. Never carries prompts, outputs or command texts. */
export interface Span {
  /** What work inside this span names as its parent. */
  readonly context: TraceContext | undefined;
  set(attributes: SpanAttributes): void;
  /** Harmless when it has ended. */
  end(failure?: string): void;
}

export interface Tracing {
  startSpan(name: string, start?: SpanStart): Span;
  /** Hands over what is left, as far as that is possible in a short time. */
  close(): Promise<void>;
}

/** Records nothing; what was given as the parent stays the parent of what is below. */
export const NO_TRACING: Tracing = {
  startSpan: (_name, { parent } = {}) => ({ context: parent, set: () => undefined, end: () => undefined }),
  close: async () => undefined,
};

/** Where a span belongs, as W3C Trace Context writes it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** What the specification asks everybody to carry at least; more is not passed on. */
const MAX_TRACESTATE = 512;

/** The trace that `_meta` of a call's params names, if it names one as it should. */
export function readTraceContext(params: unknown): TraceContext | undefined {
  const meta = isFields(params) ? params["_meta"] : undefined;
  const { traceparent, tracestate } = isFields(meta) ? meta : {};
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return undefined;
  const state = typeof tracestate === "string" && tracestate !== "" && tracestate.length <= MAX_TRACESTATE ? { tracestate } : {};
  return { traceparent, ...state };
}

/** Where the server tells what it does. */
export interface Telemetry {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  /** Prompts and answers are logged too. */
  readonly logsContent: boolean;
}

export const NO_TELEMETRY: Telemetry = { log: NO_LOG, metrics: NO_METRICS, tracing: NO_TRACING, logsContent: false };
