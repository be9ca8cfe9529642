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
