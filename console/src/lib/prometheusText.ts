/** One line of a server's metrics. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Parses Prometheus' text format; invalid lines are ignored. */
export function prometheusSamples(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = line.startsWith("#") ? [] : (LINE.exec(line) ?? []);
    if (name === undefined || Number.isNaN(Number(value))) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, key = "", given = ""]) => [key, given.replace(/\\(.)/g, "$1")] as const);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** The sum of all samples of a name, or of those that have certain labels; undefined when there is none. */
export function total(samples: readonly Sample[], name: string, having: Readonly<Record<string, string>> = {}): number | undefined {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(having).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
