import { createLog, type LogLine, readLogFilter } from "../../../src/observability/log.js";
import { createPrometheusMetrics } from "../../../src/observability/prometheus.js";
import type { Metrics, SpanStart, Telemetry, Tracing } from "../../../src/observability/telemetry.js";

export interface KeptSpan {
  readonly name: string;
  /** Its parent's name, or the parent from the request. */
  readonly within: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  failure: string | undefined;
  ended: boolean;
}

/** The server's telemetry, kept in memory, without times, which differ in each run. */
export class MemoryTelemetry implements Telemetry {
  readonly lines: string[] = [];
  readonly spans: KeptSpan[] = [];
  readonly metrics: Metrics = createPrometheusMetrics();
  readonly logsContent: boolean;
  readonly log = createLog({
    sinks: [{ filter: readLogFilter({}, "debug"), write: (line) => this.lines.push(shown(line())) }],
    mask: (line) => line,
  });

  constructor({ logsContent = false }: { readonly logsContent?: boolean } = {}) {
    this.logsContent = logsContent;
  }

  readonly tracing: Tracing = {
    startSpan: (name, { parent, attributes = {} }: SpanStart = {}) => {
      const held: Record<string, unknown> = { ...attributes };
      const span: KeptSpan = { name, within: parent?.traceparent, attributes: held, failure: undefined, ended: false };
      this.spans.push(span);
      return {
        context: { traceparent: name },
        set: (more) => void Object.assign(held, more),
        end(failure) {
          span.failure = failure;
          span.ended = true;
        },
      };
    },
    close: async () => undefined,
  };

  /** The non-zero counts of `/metrics`, without durations. */
  async counts(): Promise<string[]> {
    const { text } = await this.metrics.render();
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !line.endsWith(" 0"));
    const counts = lines.filter((line) => !/^codex_mcp_(?:process|nodejs)_|_seconds_(?:bucket|sum|count)\b/.test(line));
    return counts.map((line) => line.replace("codex_mcp_", ""));
  }
}

function shown({ level, message, fields }: LogLine): string {
  const known = Object.entries(fields).filter(([name, value]) => value !== undefined && !/(?:^|_)ms$/.test(name));
  return [level, message, ...known.map(([name, value]) => `${name}=${value}`)].join(" ");
}
