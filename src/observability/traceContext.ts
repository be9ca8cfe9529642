import { isFields } from "../lib/fields.js";

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
