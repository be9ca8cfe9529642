import { METHODS } from "node:http";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Metrics } from "./telemetry.js";

/** Every name begins with it. */
export const PREFIX = "codex_mcp_";

/** Seconds, for what a program does by itself. */
export const SHORT = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120];
/** Seconds, for what waits for models and people. */
export const LONG = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** Makes the instruments of one registry. */
export interface Instruments {
  counter<Label extends string = never>(name: string, help: string, labels?: readonly Label[]): Counter<Label>;
  gauge<Label extends string = never>(name: string, help: string, labels?: readonly Label[]): Gauge<Label>;
  /** A value that is asked for when somebody looks. */
  sampledGauge(name: string, help: string, value: () => number): Gauge;
  histogram<Label extends string = never>(name: string, help: string, shape: Shape<Label>): Histogram<Label>;
}

export interface Shape<Label extends string> {
  readonly buckets: readonly number[];
  readonly labels?: readonly Label[];
}

export function instrumentsOf(registry: Registry): Instruments {
  const registers = [registry];
  return {
    counter: (name, help, labels = []) => new Counter({ name: PREFIX + name, help, labelNames: [...labels], registers }),
    gauge: (name, help, labels = []) => new Gauge({ name: PREFIX + name, help, labelNames: [...labels], registers }),
    sampledGauge: (name, help, value) =>
      new Gauge({
        name: PREFIX + name,
        help,
        registers,
        collect() {
          this.set(value());
        },
      }),
    histogram: (name, help, { buckets, labels = [] }) =>
      new Histogram({ name: PREFIX + name, help, buckets: [...buckets], labelNames: [...labels], registers }),
  };
}

/** The values of one label: the first few are kept apart, the rest counted together, so that no caller can fill the memory with names. */
export class BoundedLabel {
  readonly #values = new Set<string>();

  constructor(private readonly most: number) {}

  of(value: string): string {
    if (this.#values.has(value)) return value;
    if (this.#values.size >= this.most) return "other";
    this.#values.add(value);
    return value;
  }
}

type HttpRequest = Parameters<Metrics["httpRequestEnded"]>[0];

/** How long the requests of a route took. */
interface Durations {
  /** Requests that took at most as long as each bucket says, and longer than the one before it. */
  readonly within: number[];
  count: number;
  seconds: number;
}

const REQUESTS = `${PREFIX}http_requests_total`;
const DURATION = `${PREFIX}http_request_duration_seconds`;
const KNOWN_METHODS = new Set(METHODS);

/** Counts HTTP requests. By hand, because it happens for every one of them: the library's counters cost a tenth of a small request. */
export class RequestTally {
  readonly #routes = new BoundedLabel(64);
  readonly #counts = new Map<string, number>();
  readonly #durations = new Map<string, Durations>();

  note({ route: pattern, method: said, status, ms }: HttpRequest): void {
    const route = this.#routes.of(pattern);
    const method = KNOWN_METHODS.has(said) ? said : "other";
    const labels = `route="${route}",method="${method}",status="${status}"`;
    this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + 1);
    this.#measure(route, ms / 1_000);
  }

  /** In Prometheus' text form. */
  text(): string {
    const durations = [...this.#durations].flatMap(([route, taken]) => durationLines(route, taken));
    return [
      `# HELP ${REQUESTS} HTTP requests`,
      `# TYPE ${REQUESTS} counter`,
      ...[...this.#counts].map(([labels, count]) => `${REQUESTS}{${labels}} ${count}`),
      "",
      `# HELP ${DURATION} From a request's head to the end of its answer, streams included`,
      `# TYPE ${DURATION} histogram`,
      ...durations,
      "",
    ].join("\n");
  }

  #measure(route: string, seconds: number): void {
    let taken = this.#durations.get(route);
    if (!taken) {
      taken = { within: SHORT.map(() => 0), count: 0, seconds: 0 };
      this.#durations.set(route, taken);
    }
    taken.count++;
    taken.seconds += seconds;
    const bucket = SHORT.findIndex((limit) => seconds <= limit);
    if (bucket >= 0) taken.within[bucket] = (taken.within[bucket] ?? 0) + 1;
  }
}

/** Buckets are cumulative in Prometheus. */
function durationLines(route: string, { within, count, seconds }: Durations): string[] {
  let sum = 0;
  const buckets = SHORT.map((limit, at) => {
    sum += within[at] ?? 0;
    return `${DURATION}_bucket{le="${limit}",route="${route}"} ${sum}`;
  });
  return [
    ...buckets,
    `${DURATION}_bucket{le="+Inf",route="${route}"} ${count}`,
    `${DURATION}_sum{route="${route}"} ${seconds}`,
    `${DURATION}_count{route="${route}"} ${count}`,
  ];
}
