import { collectDefaultMetrics, Registry } from "prom-client";
import { instrumentsOf, PREFIX } from "./instruments.js";
import type { Metrics, Samples } from "./metrics.js";
import { callMetrics, deliveryMetrics, httpMetrics, sampledMetrics, sessionMetrics } from "./promServer.js";
import { modelMetrics, toolMetrics, turnMetrics } from "./promTurns.js";
import { RequestTally } from "./requestTally.js";

/** The numbers of this process in Prometheus' text form. */
export function createPrometheusMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  const make = instrumentsOf(registry);
  const tally = new RequestTally();
  let samples: Samples = {};
  sampledMetrics(make, () => samples);
  return {
    ...sessionMetrics(make),
    ...callMetrics(make),
    ...turnMetrics(make),
    ...modelMetrics(make),
    ...toolMetrics(make),
    ...deliveryMetrics(make),
    ...httpMetrics(make, tally),
    sample(more) {
      samples = { ...samples, ...more };
    },
    render: async () => ({ contentType: registry.contentType, text: `${await registry.metrics()}\n${tally.text()}` }),
  };
}
