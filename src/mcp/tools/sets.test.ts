import { expect, it } from "vitest";
import { declarationsOf, TOOL_SETS, ToolSetsClash, toolsOf } from "./sets.js";
import type { ToolSetName } from "./tool.js";

const NAMES = Object.keys(TOOL_SETS) as ToolSetName[];

it.each(NAMES)("the set %s has tools, and no two of one name", (set) => {
  const names = declarationsOf(toolsOf([set])).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(0);
  expect(new Set(names).size).toBe(names.length);
});

it("sets with a tool of one name are not served together", () => {
  expect(() => toolsOf(["codex", "codex-original"])).toThrow(ToolSetsClash);
  expect(() => toolsOf(["codex", "codex-original"])).toThrow(
    "The tool sets codex and codex-original both have a tool codex: choose one of them.",
  );
});

it("every tool and every argument says what it is for", async () => {
  const tools = await Promise.all(toolsOf(["codex"]).map(({ load }) => load()));
  const silent = tools.flatMap(({ name, description, inputSchema }) => {
    const fields = Object.entries(inputSchema.properties).map(([field, schema]) => [`${name}.${field}`, schema.description] as const);
    return [[name, description] as const, ...fields].filter(([, text]) => !text).map(([what]) => what);
  });
  expect(silent).toEqual([]);
});

it("every example has the arguments that its tool needs, and no others", async () => {
  const tools = await Promise.all(toolsOf(["codex"]).map(({ load }) => load()));
  for (const { example, inputSchema } of tools) {
    expect(Object.keys(inputSchema.properties)).toEqual(expect.arrayContaining(Object.keys(example)));
    expect(Object.keys(example)).toEqual(expect.arrayContaining([...(inputSchema.required ?? [])]));
  }
});

it.each([
  ["codex", "codex-cli", "codex"],
  ["codex-cli", "codex-original", "codex"],
] as const)("%s and %s are refused with a sentence that names both", (one, other, tool) => {
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const)
    expect(() => toolsOf([first, second])).toThrow(`The tool sets ${first} and ${second} both have a tool ${tool}: choose one of them.`);
});

it.each([
  ["codex", "extras", "openoxide"],
  ["codex-cli", "openoxide", "extras"],
  ["codex-original", "openoxide"],
] as const)("%s, %s are served together, each tool as in its own set", (...sets) => {
  const together = toolsOf(sets);
  expect(together).toEqual(sets.flatMap((set) => toolsOf([set])));
  expect(new Set(declarationsOf(together).map(({ name }) => name)).size).toBe(together.length);
});
