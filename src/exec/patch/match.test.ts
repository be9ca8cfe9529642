import { describe, expect, it } from "vitest";
import { LineFinder } from "./match.js";

function find(lines: readonly string[], block: readonly string[], { from = 0, atEnd = false } = {}): number | undefined {
  return new LineFinder(lines).find(block, { from, atEnd });
}

describe("a block of lines is found", () => {
  it.each([
    ["exactly", ["a", "b", "c"], ["b", "c"], 1],
    ["with other blanks at the end", ["a  ", "b\t"], ["a", "b   "], 0],
    ["with other blanks on both sides", ["\t\ta ", "  b"], ["a", "b"], 0],
    ["with typographic dashes", ["a \u2010\u2011\u2012\u2013\u2014\u2015\u2212 b"], ["a ------- b"], 0],
    ["with typographic single quotes", ["\u2018\u2019\u201a\u201b"], ["''''"], 0],
    ["with typographic double quotes", ["\u201c\u201d\u201e\u201f"], ['""""'], 0],
    ["with odd spaces", ["a\u00a0\u2002\u2003\u200a\u202f\u205f\u3000b"], ["a       b"], 0],
    ["where the file has plain characters and the patch has not", ["a - b"], ["a \u2014 b"], 0],
    ["not at all when a line differs", ["a", "b", "c"], ["b", "x"], undefined],
    ["not at all when it is longer than the file", ["a"], ["a", "b"], undefined],
  ])("%s", (_, lines, block, place) => {
    expect(find(lines, block)).toBe(place);
  });

  it("by the strictest comparison first, wherever in the file", () => {
    expect(find([" a", "a ", "a"], ["a"])).toBe(2);
    expect(find([" a", "a "], ["a"])).toBe(1);
    expect(find(["“a”", '  "a"'], ['"a"'])).toBe(1);
  });

  it("at its first place from the cursor on, never before it", () => {
    const lines = ["x", "a", "x", "a", "x"];
    expect([0, 1, 2, 3, 4].map((from) => find(lines, ["x"], { from }))).toEqual([0, 2, 2, 4, 4]);
    expect(find(lines, ["x", "a"], { from: 3 })).toBeUndefined();
  });

  it("unless it nearly fits in so many places that looking on would keep everybody else waiting", () => {
    const filler = Array.from({ length: 40_000 }, (_, at) => (at % 2 ? "r" : "q"));
    const block = [...filler.slice(0, 4_000), "q", "q"];
    expect([find([...filler, "q"], ["q", "r", "q"]), find([...filler, ...block], block)]).toEqual([0, undefined]);
  });

  it("also when its first lines repeat", () => {
    expect(find(["}", "}", "}", "end"], ["}", "end"])).toBe(2);
    expect(find(["a", "a", "b", "a", "a", "c"], ["a", "a", "c"])).toBe(3);
  });
});

describe("a block for the end of the file", () => {
  it("is found there and nowhere else", () => {
    expect(find(["k", "k", "k"], ["k"], { atEnd: true })).toBe(2);
    expect(find(["l1", "l2"], ["l1"], { atEnd: true })).toBeUndefined();
  });

  it("is not found where an earlier chunk already was", () => {
    expect(find(["k"], ["k"], { from: 1, atEnd: true })).toBeUndefined();
    expect(find(["a", "b"], ["a", "b"], { from: 1, atEnd: true })).toBeUndefined();
  });
});
