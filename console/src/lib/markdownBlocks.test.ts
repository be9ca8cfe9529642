import { expect, it } from "vitest";
import { markdownBlocks } from "./markdownBlocks.js";

it("splits a text at empty lines", () => {
  expect(markdownBlocks("one\nstill one\n\ntwo")).toEqual(["one\nstill one\n", "two"]);
});

it("keeps fenced code and lists whole", () => {
  const code = "```js\na\n\nb\n```";
  expect(markdownBlocks(`${code}\n\nafter`)).toEqual([`${code}\n`, "after"]);
  expect(markdownBlocks("```\nopen\n\nstill")).toEqual(["```\nopen\n\nstill"]);
  expect(markdownBlocks("- a\n\n  more of a\n\n- b\n\nend")).toEqual(["- a\n\n  more of a\n\n- b\n", "end"]);
});

it("keeps all blocks but the last when a text grows", () => {
  const before = markdownBlocks("one\n\ntwo\n\nthr");
  const after = markdownBlocks("one\n\ntwo\n\nthree\n\nfour");
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
});

it("loses nothing", () => {
  const text = "# a\n\n1. x\n\n2. y\n\n> q\n\n```\n\n```\n\n\nend\n";
  expect(markdownBlocks(text).join("\n")).toBe(text);
});
