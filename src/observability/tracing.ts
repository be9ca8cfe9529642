import { isFields } from "../lib/fields.js";

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
