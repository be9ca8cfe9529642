import { METHODS } from "node:http";
import { BoundedLabel } from "./boundedLabel.js";
import { PREFIX, SHORT } from "./instruments.js";
import type { Metrics } from "./metrics.js";

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
