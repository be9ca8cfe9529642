/** One figure of one server in one case. */
export interface Figure {
  readonly caseName: string;
  readonly target: string;
  readonly metric: string;
}

/** All measured values, by case, server and metric, in the order of measurement. */
export class Samples {
  readonly #cases = new Map<string, Map<string, Map<string, number[]>>>();

  add({ caseName, target, metric }: Figure, values: readonly number[]): void {
    const targets = entry(this.#cases, caseName, () => new Map<string, Map<string, number[]>>());
    const metrics = entry(targets, target, () => new Map<string, number[]>());
    entry(metrics, metric, () => []).push(...values);
  }

  values({ caseName, target, metric }: Figure): readonly number[] {
    return this.#cases.get(caseName)?.get(target)?.get(metric) ?? [];
  }

  median(figure: Figure): number | undefined {
    return quantile(this.values(figure), 0.5);
  }

  get caseNames(): string[] {
    return [...this.#cases.keys()];
  }

  targetsOf(caseName: string): string[] {
    return [...(this.#cases.get(caseName)?.keys() ?? [])];
  }

  metricsOf(caseName: string): string[] {
    const targets = [...(this.#cases.get(caseName)?.values() ?? [])];
    return [...new Set(targets.flatMap((metrics) => [...metrics.keys()]))];
  }

  toJSON(): unknown {
    return JSON.parse(JSON.stringify(this.#cases, (_key, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value)));
  }
}

/** Interpolates between the two nearest values. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  return below === undefined || above === undefined ? undefined : below + (above - below) * (place - Math.floor(place));
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
