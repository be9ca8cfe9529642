import { expect, it } from "vitest";
import { INSTRUCTIONS } from "../wording/instructions.js";
import { declarationsOf, toolsOf } from "./sets.js";

it("the default list without output schemas has at most 2,000 tokens", () => {
  const shown = declarationsOf(toolsOf(["codex"])).map((tool) => ({ ...tool, outputSchema: undefined }));
  expect(JSON.stringify(shown).length / 4).toBeLessThanOrEqual(2_000);
});

it("the instructions are within the limit of clients, and name only existing tools", () => {
  expect(INSTRUCTIONS.length).toBeLessThanOrEqual(2_048);
  const names = declarationsOf(toolsOf(["codex"])).map(({ name }) => name);
  const named = new Set([...INSTRUCTIONS.matchAll(/`(codex[a-z-]*)`/g)].map(([, name]) => name));
  expect([...named].filter((name) => !names.includes(name ?? ""))).toEqual([]);
  expect(names.filter((name) => !named.has(name))).toEqual([]);
});

it("only tools for plan modes have a read-only hint", () => {
  const hinted = declarationsOf(toolsOf(["codex"])).filter(({ annotations }) => annotations?.readOnlyHint);
  expect(hinted.map(({ name }) => name)).toEqual(["codex-query", "codex-review", "codex-wait", "codex-threads"]);
});

it("the default list has room for the names of models, which only `codex` shows", () => {
  const names = ["x".repeat(48), "y".repeat(48), "z".repeat(48), "v".repeat(48)];
  const list = declarationsOf(toolsOf(["codex"]), names);
  const shown = list.map((tool) => ({ ...tool, outputSchema: undefined }));
  expect(JSON.stringify(shown).length / 4).toBeLessThanOrEqual(2_000);
  expect(list.filter((tool) => JSON.stringify(tool).includes(names.join(", "))).map(({ name }) => name)).toEqual(["codex"]);
  expect(declarationsOf(toolsOf(["codex-original"]), names)).toEqual(declarationsOf(toolsOf(["codex-original"])));
});

it("required arguments come first in a schema, because clients make forms of it", () => {
  for (const { name, inputSchema } of declarationsOf(toolsOf(["codex", "extras"]))) {
    const { properties, required = [] } = inputSchema as { properties: object; required?: readonly string[] };
    expect([name, Object.keys(properties).slice(0, required.length).sort()]).toEqual([name, [...required].sort()]);
  }
});
