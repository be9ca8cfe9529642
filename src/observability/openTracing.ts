import type { Log } from "./log.js";
import { NO_TRACING, type Tracing } from "./tracing.js";

/** Whether the environment asks for traces, by the variables that OpenTelemetry defines. */
export function wantsTraces(env: NodeJS.ProcessEnv): boolean {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none") return false;
  return Boolean(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"]);
}

/** Loads OpenTelemetry when traces are wanted. */
export async function openTracing({ env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: Log }): Promise<Tracing> {
  if (!wantsTraces(env)) return NO_TRACING;
  const { createOtelTracing } = await import("./otel.js");
  return createOtelTracing({ env, log });
}
