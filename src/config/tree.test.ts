import { describe, expect, it } from "vitest";
import { choiceAt, flagAt, isTree, mergeTrees, numberAt, tableAt, textAt, textMapAt, textsAt, withoutAbsent, withValueAt } from "./tree.js";

describe("mergeTrees", () => {
  it("joins tables key by key and replaces everything else", () => {
    const weaker = { model: "a", notify: ["x", "y"], features: { undo: true, steer: true } };
    const stronger = { notify: ["z"], features: { undo: false }, tools: { view_image: true } };
    expect(mergeTrees(weaker, stronger)).toEqual({
      model: "a",
      notify: ["z"],
      features: { undo: false, steer: true },
      tools: { view_image: true },
    });
    expect(weaker).toEqual({ model: "a", notify: ["x", "y"], features: { undo: true, steer: true } });
  });

  it("keeps a key named __proto__ a key", () => {
    const hostile = JSON.parse('{"__proto__":{"polluted":true}}');
    expect(Object.entries(mergeTrees({}, hostile))).toEqual([["__proto__", { polluted: true }]]);
    expect("polluted" in {}).toBe(false);
  });
});

describe("withValueAt", () => {
  it("makes the tables on the way and leaves the given tree alone", () => {
    const tree = { a: { kept: 1 }, b: 5 };
    expect(withValueAt(withValueAt(tree, ["a", "x", "y"], 2), ["b", "c"], 3)).toEqual({ a: { kept: 1, x: { y: 2 } }, b: { c: 3 } });
    expect(tree).toEqual({ a: { kept: 1 }, b: 5 });
  });

  it("cannot reach a prototype", () => {
    expect(Object.entries(withValueAt({}, ["__proto__", "polluted"], true))).toEqual([["__proto__", { polluted: true }]]);
    expect("polluted" in {}).toBe(false);
  });
});

describe("withoutAbsent", () => {
  it("drops null and undefined at every level, in tables only", () => {
    const tree = { a: null, b: undefined, c: { d: null, e: 0, f: { g: null } }, h: [null] };
    expect(withoutAbsent(tree)).toStrictEqual(withoutAbsent({ c: { e: 0, f: {} }, h: [null] }));
    expect(Object.keys(withoutAbsent(tree))).toEqual(["c", "h"]);
  });
});

describe("readers", () => {
  const tree = {
    text: "a",
    flag: false,
    whole: 7,
    huge: 9223372036854775807n,
    list: ["a", 1],
    table: { x: "1", y: 2 },
    day: new Date(0),
  };

  it("give the value when it is of their kind", () => {
    expect({
      text: textAt(tree, "text"),
      flag: flagAt(tree, "flag"),
      whole: numberAt(tree, "whole"),
      huge: numberAt(tree, "huge"),
      list: textsAt(tree, "list"),
      table: tableAt(tree, "table"),
      textMap: textMapAt(tree, "table"),
      choice: choiceAt(tree, "text", ["a", "b"]),
    }).toEqual({
      text: "a",
      flag: false,
      whole: 7,
      huge: 2 ** 63,
      list: ["a"],
      table: { x: "1", y: 2 },
      textMap: { x: "1" },
      choice: "a",
    });
  });

  it("return nothing for values that are absent, inherited or of another type", () => {
    expect([textAt(tree, "gone"), textAt(tree, "flag"), flagAt(tree, "text"), numberAt(tree, "text"), textsAt(tree, "text")]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect([tableAt(tree, "text"), tableAt({}, "constructor"), choiceAt(tree, "text", ["b"])]).toEqual([{}, {}, undefined]);
    expect(isTree(tree.day)).toBe(false);
  });
});
