import { expect, it } from "vitest";
import { INSTRUCTIONS } from "../wording/instructions.js";
import { declarationsOf, toolsOf } from "./sets.js";

it("the default list costs a model at most 2,000 tokens, output schemas apart", () => {
  const shown = declarationsOf(toolsOf(["codex"])).map((tool) => ({ ...tool, outputSchema: undefined }));
  expect(JSON.stringify(shown).length / 4).toBeLessThanOrEqual(2_000);
});

it("the instructions fit into what clients keep of them, and name only tools that there are", () => {
  expect(INSTRUCTIONS.length).toBeLessThanOrEqual(2_048);
  const names = declarationsOf(toolsOf(["codex"])).map(({ name }) => name);
  const named = new Set([...INSTRUCTIONS.matchAll(/`(codex[a-z-]*)`/g)].map(([, name]) => name));
  expect([...named].filter((name) => !names.includes(name ?? ""))).toEqual([]);
  expect(names.filter((name) => !named.has(name))).toEqual([]);
});

it("what is hinted read-only is what plan modes may use, and nothing else is", () => {
  const hinted = declarationsOf(toolsOf(["codex"])).filter(({ annotations }) => annotations?.readOnlyHint);
  expect(hinted.map(({ name }) => name)).toEqual(["codex-query", "codex-review", "codex-wait", "codex-threads"]);
});

it("names of models have room in the default list, and stand in `codex` alone", () => {
  const names = ["x".repeat(48), "y".repeat(48), "z".repeat(48), "v".repeat(48)];
  const list = declarationsOf(toolsOf(["codex"]), names);
  const shown = list.map((tool) => ({ ...tool, outputSchema: undefined }));
  expect(JSON.stringify(shown).length / 4).toBeLessThanOrEqual(2_000);
  expect(list.filter((tool) => JSON.stringify(tool).includes(names.join(", "))).map(({ name }) => name)).toEqual(["codex"]);
  expect(declarationsOf(toolsOf(["codex-original"]), names)).toEqual(declarationsOf(toolsOf(["codex-original"])));
});

it("what a tool must be given stands first in its schema, where people fill in forms", () => {
  for (const { name, inputSchema } of declarationsOf(toolsOf(["codex", "extras"]))) {
    const { properties, required = [] } = inputSchema as { properties: object; required?: readonly string[] };
    expect([name, Object.keys(properties).slice(0, required.length).sort()]).toEqual([name, [...required].sort()]);
  }
});
