import { isFields } from "../lib/fields.js";
import { monotonicMs } from "../lib/promises.js";
import { type Log, NO_LOG } from "./log.js";

/** How a client is connected. */
export type TransportName = "stdio" | "http" | "websocket" | "sse";

/** A duration in milliseconds. */
interface Timed {
  readonly ms: number;
}

/**
 * The server's metrics. Every function returns at once and never throws. Labels that callers or models can choose (`model`, `route`,
 * `tool`, `reason`) have a limited number of distinct values; the others count as `other`.
 */
export interface Metrics {
  sessionOpened(session: { readonly transport: TransportName }): void;
  sessionClosed(session: { readonly transport: TransportName; readonly reason: string }): void;

  callRefused(call: { readonly reason: string }): void;
  callEnded(
    call: Timed & { readonly tool: string; readonly outcome: "ok" | "error" | "cancelled"; readonly code?: string | undefined },
  ): void;

  turnQueued(): void;
  /** The turn has left the queue. */
  turnStarted(): void;
  turnEnded(turn: Timed & { readonly outcome: "completed" | "failed" | "interrupted" }): void;
  approvalAsked(): void;
  approvalSettled(approval: Timed & { readonly channel: string; readonly decision: string }): void;
  modelCallEnded(
    call: Timed & {
      readonly model: string;
      readonly outcome: "answered" | "retried" | "failed" | "interrupted";
      /** Absent when there was no output. */
      readonly firstTokenMs?: number | undefined;
    },
  ): void;
  tokensUsed(tokens: { readonly input: number; readonly cachedInput: number; readonly output: number; readonly reasoning: number }): void;
  commandStarted(): void;
  commandEnded(command: Timed & { readonly outcome: "succeeded" | "failed" | "interrupted" | "left_running" }): void;
  patchEnded(patch: { readonly outcome: "applied" | "failed" | "interrupted" }): void;
  toolCallEnded(call: Timed & { readonly outcome: "ok" | "error" | "interrupted" }): void;

  /** Deltas that a slow reader did not get. */
  messagesDropped(count: number): void;
  readerDisconnected(reader: { readonly reason: string }): void;

  /** `route` is the route's pattern, never the requested path. */
  httpRequestEnded(request: Timed & { readonly route: string; readonly method: string; readonly status: number }): void;
  /** Refused before its body was read: host, origin, token, rate limit. */
  httpRequestRefused(request: { readonly reason: string }): void;

  /** Values that are read at each scrape. A later call replaces an earlier one. */
  sample(samples: Samples): void;
  /** The response of `/metrics`. */
  render(): Promise<MetricsPage>;
}

export interface Samples {
  /** Open event streams (SSE) and WebSockets. */
  readonly streamsOpen?: () => number;
  readonly webSocketsOpen?: () => number;
  /** The longest current queue of any reader. */
  readonly longestReaderQueue?: () => number;
  /** Tool calls that wait because their session or principal has reached its limit. */
  readonly callsWaiting?: () => number;
  /** The number of lost log lines since the start. */
  readonly logLinesLost?: () => number;
  /** Threads in memory. */
  readonly threadsLoaded?: () => number;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly text: string;
}

const nothing = (): void => undefined;

/** Measures nothing, for servers without a metrics endpoint. */
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
  /** `server`: an incoming request; `client`: an outgoing request; otherwise internal. */
  readonly kind?: "server" | "client" | "internal";
  readonly attributes?: SpanAttributes;
  /** Milliseconds since 1970, for work that is reported afterwards. */
  readonly startedAt?: number;
}

/** A span of a trace. Never contains prompts, outputs or command texts. */
export interface Span {
  /** The parent for spans inside this one. */
  readonly context: TraceContext | undefined;
  set(attributes: SpanAttributes): void;
  /** Harmless after the end. */
  end(failure?: string): void;
}

export interface Tracing {
  startSpan(name: string, start?: SpanStart): Span;
  /** Exports the remaining spans, as far as possible in a short time. */
  close(): Promise<void>;
}

/** Records nothing; passes the given parent on to inner spans. */
export const NO_TRACING: Tracing = {
  startSpan: (_name, { parent } = {}) => ({ context: parent, set: () => undefined, end: () => undefined }),
  close: async () => undefined,
};

/** A span's trace context in the format of W3C Trace Context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** The minimum that the specification requires to be propagated; longer values are dropped. */
const MAX_TRACESTATE = 512;

/** The trace context in `_meta` of a call's params, if it is valid. */
export function readTraceContext(params: unknown): TraceContext | undefined {
  const meta = isFields(params) ? params["_meta"] : undefined;
  const { traceparent, tracestate } = isFields(meta) ? meta : {};
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return undefined;
  const state = typeof tracestate === "string" && tracestate !== "" && tracestate.length <= MAX_TRACESTATE ? { tracestate } : {};
  return { traceparent, ...state };
}

const ORIGIN = Date.now() - monotonicMs();

/** Milliseconds since 1970, monotonic: never goes back when the clock is set. */
export function now(): number {
  return ORIGIN + monotonicMs();
}

export function msSince(start: number): number {
  return Math.round(now() - start);
}

/** The outputs for observing the server. */
export interface Telemetry {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  /** Prompts and responses are logged too. */
  readonly logsContent: boolean;
}

export const NO_TELEMETRY: Telemetry = { log: NO_LOG, metrics: NO_METRICS, tracing: NO_TRACING, logsContent: false };
