import {
  type Context,
  createTraceState,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-node";
import { describe } from "../lib/errors.js";
import { endsWithin } from "../lib/promises.js";
import { VERSION } from "../lib/version.js";
import type { Log } from "./log.js";
import type { Span, SpanAttributes, SpanStart, TraceContext, Tracing } from "./telemetry.js";

/** The time limit for the last spans before the process exits. */
const CLOSE_MS = 1_500;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** Exports spans over OTLP/HTTP. The exporter and the sampler read the other OpenTelemetry variables themselves. */
export function createOtelTracing({ env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: Log }): Tracing {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": env["OTEL_SERVICE_NAME"] || "codex-mcp-server",
      "service.version": VERSION,
      "process.pid": process.pid,
    }),
    spanProcessors: [new BatchSpanProcessor(reportingExporter(new OTLPTraceExporter(), log))],
  });
  const tracer = provider.getTracer("codex-mcp-server", VERSION);
  return {
    startSpan: (name, start = {}) => new ExportedSpan(startOtelSpan(tracer, name, start)),
    async close() {
      // Spans that cannot be exported are lost; the log reported that when it began.
      await endsWithin(CLOSE_MS, provider.shutdown()).catch(() => undefined);
    },
  };
}

class ExportedSpan implements Span {
  readonly #span: OtelSpan;

  constructor(span: OtelSpan) {
    this.#span = span;
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags, traceState } = this.#span.spanContext();
    const state = traceState?.serialize();
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
    return state ? { traceparent, tracestate: state } : { traceparent };
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  end(failure?: string): void {
    if (failure !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    this.#span.end();
  }
}

function startOtelSpan(tracer: Tracer, name: string, { parent, kind = "internal", attributes = {}, startedAt }: SpanStart): OtelSpan {
  const time = startedAt === undefined ? {} : { startTime: new Date(startedAt) };
  return tracer.startSpan(name, { kind: KINDS[kind], attributes, ...time }, parent ? within(parent) : ROOT_CONTEXT);
}

function within({ traceparent, tracestate }: TraceContext): Context {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate ? { traceState: createTraceState(tracestate) } : {}),
  });
}

type ExportResult = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

/** Wraps an exporter: logs once when spans no longer get through, and once when they do again. */
export function reportingExporter(exporter: SpanExporter, log: Log): SpanExporter {
  let failing = false;
  const note = ({ error }: ExportResult): void => {
    if (error && !failing) log.warn("traces cannot be exported", { cause: describe(error) });
    if (!error && failing) log.info("traces are exported again");
    failing = error !== undefined;
  };
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        note(result);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
