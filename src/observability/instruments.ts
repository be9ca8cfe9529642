import { Counter, Gauge, Histogram, type Registry } from "prom-client";

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
