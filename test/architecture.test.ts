import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** What each folder may import besides itself: downward in the picture of docs/architecture.md, never up. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  start: ["main.ts", "lib"],
  "main.ts": ["cli", "lib"],
  cli: ["config", "transports", "mcp", "threads", "approvals", "engines", "rollouts", "exec", "jsonrpc", "observability", "lib"],
  config: ["threads", "lib"],
  transports: ["mcp", "jsonrpc", "lib"],
  mcp: ["threads", "approvals", "jsonrpc", "observability", "lib"],
  engines: ["threads", "approvals", "exec", "jsonrpc", "observability", "lib"],
  rollouts: ["threads", "lib"],
  threads: ["approvals", "lib"],
  exec: ["threads", "approvals", "lib"],
  approvals: ["lib"],
  jsonrpc: ["lib"],
  observability: ["lib"],
  lib: [],
};

const IMPORT = /(?:^(?:import|export)\s[^"';]*?from\s*|^import\s+|\bimport\(\s*)"(\.[^"]+)\.js"/gm;

const sources = new Map(
  readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => [file, readFileSync(path.join(SRC, file), "utf8")]),
);

/** Every file with the files it imports, types included. */
const graph = new Map(
  [...sources].map(([file, text]) => {
    const targets = [...text.matchAll(IMPORT)].map(([, target = ""]) => `${path.join(path.dirname(file), target)}.ts`);
    return [file, targets];
  }),
);

function partOf(file: string): string {
  return file.split(path.sep)[0] ?? file;
}

it("imports are understood, and lead to files that exist", () => {
  expect(graph.get("main.ts")).toContain("cli/serveStdio.ts");
  expect(graph.get("cli/serveStdio.ts")).toEqual(expect.arrayContaining(["mcp/session.ts", "cli/agent.ts"]));
  expect([...graph.values()].flat().filter((file) => !sources.has(file))).toEqual([]);
});

it("every folder imports only what is below it", () => {
  const upward = [...graph].flatMap(([file, targets]) => {
    const allowed = [partOf(file), ...(ALLOWED[partOf(file)] ?? [])];
    return targets.filter((target) => !allowed.includes(partOf(target))).map((target) => `${file} imports ${target}`);
  });
  expect(upward).toEqual([]);
});

it("no file imports itself by a detour", () => {
  const finished = new Set<string>();
  const cycleFrom = (file: string, trail: readonly string[]): string | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file].join(" → ");
    if (finished.has(file)) return undefined;
    const cycle = graph
      .get(file)
      ?.map((target) => cycleFrom(target, [...trail, file]))
      .find((found) => found !== undefined);
    finished.add(file);
    return cycle;
  };
  expect([...graph.keys()].flatMap((file) => cycleFrom(file, []) ?? [])).toEqual([]);
});

it("every name is exported once, by the file that owns it", () => {
  const barrels = [...sources].filter(([file, text]) => path.basename(file) === "index.ts" || /^export (?:\*|default\b)/m.test(text));
  expect(barrels.map(([file]) => file)).toEqual([]);
});
