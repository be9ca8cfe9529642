import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { namePrefix, ToolNames } from "./toolNames.js";

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

it.for([
  ["docs", "search", "mcp__docs__search"],
  ["docs", "find-it_2", "mcp__docs__find-it_2"],
  ["docs", "a.b/c d", "mcp__docs__a_b_c_d"],
  ["docs", "grüße 🙂", "mcp__docs__gr__e__"],
  ["docs", "x".repeat(53), `mcp__docs__${"x".repeat(53)}`],
  ["docs", "x".repeat(54), `mcp__docs__${"x".repeat(13)}${sha1(`mcp__docs__${"x".repeat(54)}`)}`],
] as const)("the tool %s of %s is called %s", ([server, tool, name]) => {
  expect(new ToolNames().assign(server, tool)).toBe(name);
  expect(name.length).toBeLessThanOrEqual(64);
});

it("tools whose names would be alike stay apart, and the same tool is not named twice", () => {
  const names = new ToolNames();
  expect(["a.b", "a_b", "a_b", "a.b"].map((tool) => names.assign("s", tool))).toEqual([
    "mcp__s__a_b",
    `mcp__s__a_b${sha1("mcp__s__a_b")}`,
    undefined,
    `mcp__s__a_b${sha1("mcp__s__a.b")}`,
  ]);
});

it("a server's tools are known by how their names begin", () => {
  expect(namePrefix("my.docs")).toBe("mcp__my_docs__");
});
