import type { Metrics } from "./metrics.js";

/** Loads what measures; only a server that listens has somebody who may ask. */
export async function openMetrics(): Promise<Metrics> {
  const { createPrometheusMetrics } = await import("./promMetrics.js");
  return createPrometheusMetrics();
}
