import type { TraceContext } from "./traceContext.js";

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
