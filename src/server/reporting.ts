import { randomBytes } from "node:crypto";
import { type Log, readLogFilter, SEVERITIES, thresholdOf } from "../observability/log.js";
import { logsContent, openLog, stderrText } from "../observability/openLog.js";
import type { Redactor } from "../observability/redact.js";
import type { Telemetry } from "../observability/telemetry.js";
import { type Metrics, NO_METRICS, NO_TRACING, type Tracing } from "../observability/telemetry.js";

export interface ReportingOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  readonly listening: boolean;
}

/** The server's output: stderr, log, metrics and traces. */
export class Reporting {
  readonly log: Log;
  readonly redactor: Redactor;
  readonly linesLost: () => number;
  readonly #env: NodeJS.ProcessEnv;
  readonly #closeLog: () => Promise<void>;
  readonly #showsInfo: boolean;
  #tracing: Promise<Tracing> | undefined;

  constructor({ env, codexHome, listening }: ReportingOptions) {
    const opened = openLog({ env, codexHome, listening, stderr: (text) => process.stderr.write(text) });
    this.log = opened.log;
    this.redactor = opened.redactor;
    this.linesLost = opened.linesLost;
    this.#closeLog = () => opened.close();
    this.#env = env;
    this.#showsInfo = listening && thresholdOf(readLogFilter(env, "info"), undefined) <= SEVERITIES.indexOf("info");
  }

  /** Reports a problem on the server's own output. */
  report(line: string): void {
    this.log.warn(line);
  }

  /** Reports a line whatever the log level is. */
  announce(line: string): void {
    this.log.info(line);
    if (!this.#showsInfo) process.stderr.write(stderrText(line));
  }

  /** Shows a line for the operator to copy. It is not an event and is not logged. */
  show(line: string): void {
    process.stderr.write(stderrText(line));
  }

  /** Logs an unexpected error. Returns a message for a network client: a reference to the log entry, without any details. */
  failed(what: string, error: unknown, fields: Readonly<Record<string, string>> = {}): string {
    const reference = randomBytes(4).toString("hex");
    this.log.error(`${what} failed unexpectedly: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, {
      ...fields,
      reference,
    });
    // Thrown by a file of the bundle that an upgrade has replaced; the text says what to do.
    if (error instanceof Error && error.name === "ServerReplaced") return error.message;
    return `internal error; see the server's log under the reference ${reference}`;
  }

  /** Loads tracing if it is enabled, so it is called only when calls are expected. */
  async telemetry(metrics: Metrics = NO_METRICS): Promise<Telemetry> {
    this.#tracing ??= openTracing({ env: this.#env, log: this.log.target("traces") });
    return { log: this.log, metrics, tracing: await this.#tracing, logsContent: logsContent(this.#env) };
  }

  async close(): Promise<void> {
    await (await this.#tracing)?.close();
    await this.#closeLog();
  }
}

/** Loads the metrics; only a listening server exposes them. */
export async function openMetrics(): Promise<Metrics> {
  const { createPrometheusMetrics } = await import("../observability/prometheus.js");
  return createPrometheusMetrics();
}

/** Whether the environment enables traces, by OpenTelemetry's variables. */
export function wantsTraces(env: NodeJS.ProcessEnv): boolean {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none") return false;
  return Boolean(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"]);
}

/** Loads OpenTelemetry if traces are enabled. */
export async function openTracing({ env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: Log }): Promise<Tracing> {
  if (!wantsTraces(env)) return NO_TRACING;
  const { createOtelTracing } = await import("../observability/otel.js");
  return createOtelTracing({ env, log });
}
