import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { parsePatch } from "./parse.js";
import { LineFinder, rewrite } from "./rewrite.js";

function edit(text: string, ...lines: string[]): string {
  const [operation] = parsePatch(patchOf("*** Update File: f", ...lines)).operations;
  if (operation?.kind !== "update") throw new Error("not an update");
  return rewrite(text, operation.chunks, { path: "/repo/f" });
}

describe("where chunks go", () => {
  it.each([
    ["the first chunk needs no @@", "alpha\nbeta\ngamma\n", [" alpha", "-beta", "+BETA"], "alpha\nBETA\ngamma\n"],
    ["lines without any context go to the end, whatever the anchor", "alpha\nbeta\n", ["@@ alpha", "+new"], "alpha\nbeta\nnew\n"],
    ["to insert after a line, the line is repeated", "alpha\nbeta\n", [" alpha", "+new"], "alpha\nnew\nbeta\n"],
    ["several additions keep their order", "a\n", ["@@", "+1", "@@", "+2"], "a\n1\n2\n"],
    [
      "an addition in between does not hide the lines before it",
      "a\nb\n",
      ["@@", "-a", "+A", "@@", "+end", "@@", "-b", "+B"],
      "A\nB\nend\n",
    ],
    [
      "an anchor tells equal lines apart",
      "def a():\n  return 1\n\ndef b():\n  return 1\n",
      ["@@ def b():", "-  return 1", "+  return 2"],
      "def a():\n  return 1\n\ndef b():\n  return 2\n",
    ],
    ["an anchor may be a blank line", "a\n\nb\n", ["@@ ", "-b", "+B"], "a\n\nB\n"],
    ["the end of the file is meant", "k\nk\nk\n", ["-k", "+LAST", "*** End of File"], "k\nk\nLAST\n"],
    ["a blank line between chunks is no line of the file", "a\nb\n", ["@@", "-a", "+A", "", "@@", "-b", "+B"], "A\nB\n"],
    ["a blank line at the end that the file has not, with lines after it", "a\n", ["@@", " a", "", "+b"], "a\n\nb\n"],
    ["typographic characters", "print(“hi”) — ok\n", ['-print("hi") - ok', '+print("bye")'], 'print("bye")\n'],
    ["other indentation is written as the patch has it", "\tif x:\n\t\tgo()\n", [" if x:", "-go()", "+stop()"], "if x:\nstop()\n"],
    ["all lines removed leave an empty file", "v\nw\n\nz\n", ["-v", "-w", "-", "-z"], ""],
    ["an empty file gets its first lines", "", ["@@", "+a", "+b"], "a\nb\n"],
  ])("%s", (_, text, lines, result) => {
    expect(edit(text, ...lines)).toBe(result);
  });
});

describe("line ends", () => {
  it.each([
    ["a missing last one is added", "x = 1\ny = 2", ["-y = 2", "+y = 3"], "x = 1\ny = 3\n"],
    ["also behind a line nobody touched", "x = 1\ny = 2", ["-x = 1", "+x = 3"], "x = 3\ny = 2\n"],
    ["and in Windows' way in a Windows file", "x = 1\r\ny = 2", ["-x = 1", "+x = 3"], "x = 3\r\ny = 2\r\n"],
    ["Windows ends stay", "one\r\ntwo\r\nthree\r\n", [" one", "-two", "+TWO", " three"], "one\r\nTWO\r\nthree\r\n"],
    ["Windows ends stay when lines are appended", "one\r\n", ["@@", "+two"], "one\r\ntwo\r\n"],
    ["every kept line keeps its own", "a\r\nb\nc\r\nd\n", [" a", " b", "-c", "+C", "+C2", " d"], "a\r\nb\nC\nC2\nd\n"],
    ["a new line takes the usual end of the lines it replaces", "a\nb\nc\nd\r\ne\r\n", ["-d", "-e", "+D"], "a\nb\nc\nD\r\n"],
    ["lines that nobody names stay byte for byte", "a \r\n\tb\n“c”\r\nd\r\r\n", ["-b", "+B"], "a \r\nB\n“c”\r\nd\r\r\n"],
    ["blank lines at the end stay", "a\nb\n\n\n", ["-a", "+A"], "A\nb\n\n\n"],
    ["blank lines can be added at the end", "a\n", [" a", "+", "+"], "a\n\n\n"],
    ["a byte order mark stays", "\ufeffa\nb\n", ["-a", "+A"], "\ufeffA\nb\n"],
  ])("%s", (_, text, lines, result) => {
    expect(edit(text, ...lines)).toBe(result);
  });
});

describe("the error for a chunk that does not fit shows the lines that were not found", () => {
  it.each([
    ["lines that are not there", "a\nb\n", ["-c", "-d", "+e"], "Failed to find expected lines in /repo/f:\nc\nd"],
    ["chunks out of order", "a\nb\nc\n", ["@@", "-c", "+C", "@@", "-a", "+A"], "Failed to find expected lines in /repo/f:\na"],
    ["lines that are not at the end", "l1\nl2\n", ["-l1", "+L1", "*** End of File"], "Failed to find expected lines in /repo/f:\nl1"],
    [
      "the end of the file replaced twice",
      "k\n",
      ["@@", "-k", "+a", "*** End of File", "@@", "-k", "+b", "*** End of File"],
      "Failed to find expected lines in /repo/f:\nk",
    ],
    [
      "two blank lines between chunks",
      "a\nb\n",
      ["@@", "-a", "+A", "", "", "@@", "-b", "+B"],
      "Failed to find expected lines in /repo/f:\na\n\n",
    ],
    ["a header of a unified diff", "a\nb\n", ["@@ -1,2 +1,2 @@", "-a", "+A"], "Failed to find context '-1,2 +1,2 @@' in /repo/f"],
    ["a blank line as anchor", "a\nb\n", ["@@ ", "-b", "+B"], "Failed to find context '' in /repo/f"],
    ["an anchor before additions", "a\n", ["@@ nowhere", "+b"], "Failed to find context 'nowhere' in /repo/f"],
  ])("%s", (_, text, lines, message) => {
    expect(() => edit(text, ...lines)).toThrowError(expect.objectContaining({ code: "patch_invalid", message }));
  });
});

describe("ten thousand small chunks", () => {
  const HUNKS = 10_000;
  it.each([
    ["that fit exactly", (line: string) => line],
    ["that fit only loosely", (line: string) => line.replace("\t", "  ").replaceAll("—", "-")],
  ])("%s are placed before a search through the whole file for every chunk would end", (_, written) => {
    const numbers = Array.from({ length: HUNKS }).map((_value, n) => n);
    const file = numbers.map((n) => `function f${n}() {\n\treturn ${n}; // — same\n}\n`).join("");
    const chunks = numbers.map((n) => ["@@", `-${written(`\treturn ${n}; // — same`)}`, `+\treturn ${-n};`]);
    const result = edit(file, ...chunks.flat());
    expect(result).toBe(numbers.map((n) => `function f${n}() {\n\treturn ${-n};\n}\n`).join(""));
  });
});

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

  it("unless it nearly matches in so many places that the search would block the server", () => {
    const filler = Array.from({ length: 40_000 }, (_, at) => (at % 2 ? "r" : "q"));
    const block = [...filler.slice(0, 4_000), "q", "q"];
    expect([find([...filler, "q"], ["q", "r", "q"]), find([...filler, ...block], block)]).toEqual([0, undefined]);
  });

  it("but not in a file of more lines than can be searched while others wait", () => {
    const chunk = { anchor: undefined, lines: [{ kind: "removed", text: "a" } as const], atEndOfFile: false };
    expect(rewrite("a\n".repeat(3), [chunk], { path: "x" })).toBe("a\n".repeat(2));
    expect(() => rewrite("a\n".repeat(400_001), [chunk], { path: "x" })).toThrow("x has more than 400000 lines");
  });

  it("with other blanks only in a file of up to 100,000 lines", () => {
    const blanks = (count: number) => Array.from({ length: count }, () => "a ");
    expect([find(blanks(100_000), ["a"]), find(blanks(100_001), ["a"])]).toEqual([0, undefined]);
  });

  it("also when its first lines repeat", () => {
    expect(find(["}", "}", "}", "end"], ["}", "end"])).toBe(2);
    expect(find(["a", "a", "b", "a", "a", "c"], ["a", "a", "c"])).toBe(3);
  });
});

describe("a block that must be at the end of the file", () => {
  it("is found there and nowhere else", () => {
    expect(find(["k", "k", "k"], ["k"], { atEnd: true })).toBe(2);
    expect(find(["l1", "l2"], ["l1"], { atEnd: true })).toBeUndefined();
  });

  it("is not found where an earlier chunk already was", () => {
    expect(find(["k"], ["k"], { from: 1, atEnd: true })).toBeUndefined();
    expect(find(["a", "b"], ["a", "b"], { from: 1, atEnd: true })).toBeUndefined();
  });
});
