import { parseArgs } from "node:util";
import { NODE_CASES, NODE_LINES, NODE_TARGETS } from "./nodeTargets.js";

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
  --nodes 20,22,24 ours on each of these Nodes, as it is and as it was before decision 65
  --quick          ours and the floor, one round
  --json FILE      every sample and verdict as JSON, too
  --help           this text, and the names of cases and servers`;

/** Throws an error whose message is for the user. */
export function parseOptions(argv: readonly string[], known: KnownNames): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: "string" },
      cases: { type: "string" },
      targets: { type: "string" },
      nodes: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new TypeError(`--rounds takes a whole number from 1, not "${values.rounds}"`);
  const nodes = namesIn(values.nodes, NODE_LINES);
  return {
    rounds,
    cases: namesIn(values.cases, known.cases) ?? (nodes ? known.cases.filter((name) => NODE_CASES.includes(name)) : known.cases),
    targets: namesIn(values.targets, known.targets) ?? targetsFor(nodes, { ...known, quick: values.quick }),
    jsonFile: values.json,
    help: values.help,
  };
}

function targetsFor(nodes: readonly string[] | undefined, { targets, quick }: KnownNames & { readonly quick: boolean }): readonly string[] {
  if (nodes) return nodes.flatMap((line) => [`node-${line}`, `before-${line}`]);
  if (quick) return ["ours", "floor"];
  const onNodes = new Set<string>(NODE_TARGETS.map(({ name }) => name));
  return targets.filter((name) => !onNodes.has(name));
}

function namesIn(list: string | undefined, known: readonly string[]): string[] | undefined {
  const names = list?.split(",");
  const stranger = names?.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new TypeError(`"${stranger}" is none of ${known.join(", ")}`);
  return names;
}
