import { parseArgs } from "node:util";

export interface BenchOptions {
  readonly rounds: number;
  readonly cases: readonly string[];
  readonly targets: readonly string[];
  readonly jsonFile: string | undefined;
  readonly help: boolean;
}

export interface KnownNames {
  readonly cases: readonly string[];
  readonly targets: readonly string[];
}

export const USAGE = `npm run bench -- [options]
  --rounds N       rounds over all cases and servers (default 3)
  --cases a,b      only these cases
  --targets a,b    only these servers
  --quick          ours and the floor, one round
  --json FILE      every sample and verdict as JSON, too
  --help           this text, and the names of cases and servers`;

/** Throws an error whose message is fit for the person at the terminal. */
export function parseOptions(argv: readonly string[], known: KnownNames): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: "string" },
      cases: { type: "string" },
      targets: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new TypeError(`--rounds takes a whole number from 1, not "${values.rounds}"`);
  return {
    rounds,
    cases: namesIn(values.cases, known.cases) ?? known.cases,
    targets: namesIn(values.targets, known.targets) ?? (values.quick ? ["ours", "floor"] : known.targets),
    jsonFile: values.json,
    help: values.help,
  };
}

function namesIn(list: string | undefined, known: readonly string[]): string[] | undefined {
  const names = list?.split(",");
  const stranger = names?.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new TypeError(`"${stranger}" is none of ${known.join(", ")}`);
  return names;
}
