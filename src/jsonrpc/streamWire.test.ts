import { describe, expect, it } from "vitest";
import { LineSplitter } from "./streamWire.js";
import type { Frame } from "./wire.js";

function split(chunks: readonly string[], { limit = 100 } = {}): Frame[] {
  const lines = new LineSplitter(limit);
  return [...chunks.flatMap((chunk) => lines.push(chunk)), ...lines.end()];
}

const texts = (...lines: string[]): Frame[] => lines.map((text) => ({ text }));

describe("lines", () => {
  it.for([
    ["one per chunk", ["one\n", "two\n"], ["one", "two"]],
    ["several in one chunk", ["one\ntwo\nthree\n"], ["one", "two", "three"]],
    ["one over several chunks", ["o", "n", "e", "\n"], ["one"]],
    ["broken anywhere", ["on", "e\ntw", "o\n"], ["one", "two"]],
    ["ended by CR LF", ["one\r\ntwo\r\n"], ["one", "two"]],
    ["ended by CR LF that was torn apart", ["one\r", "\ntwo\n"], ["one", "two"]],
    ["with a CR inside", ["a\rb\n"], ["a\rb"]],
    ["empty ones too", ["\n\r\nx\n"], ["", "", "x"]],
    ["the last without a line break", ["one\ntwo"], ["one", "two"]],
    ["the last without a line break, torn apart", ["one\nt", "w", "o"], ["one", "two"]],
    ["none in nothing", ["", ""], []],
  ] as const)("%s", ([, chunks, expected]) => {
    expect(split(chunks)).toEqual(texts(...expected));
  });

  it("the same text gives the same lines wherever it is cut", () => {
    const text = '{"id":1}\r\n\n{"id":"ü😀"}\nlast';
    const whole = split([text]);
    for (let at = 0; at <= text.length; at++) expect(split([text.slice(0, at), text.slice(at)])).toEqual(whole);
    expect(split([...text])).toEqual(whole);
  });
});

describe("a line past the limit", () => {
  it("is reported once with its length, and the stream goes on", () => {
    expect(split(["x".repeat(8), "x".repeat(8), "x".repeat(4), "\nnext\n"], { limit: 10 })).toEqual([
      { tooLongBytes: 20 },
      { text: "next" },
    ]);
  });

  it("is reported when it is the last one and has no line break", () => {
    expect(split(["ok\n", "x".repeat(11)], { limit: 10 })).toEqual([{ text: "ok" }, { tooLongBytes: 11 }]);
  });

  it("begins at one character past the limit", () => {
    expect(split([`${"x".repeat(10)}\n${"x".repeat(11)}\n`], { limit: 10 })).toEqual([{ text: "x".repeat(10) }, { tooLongBytes: 11 }]);
  });

  it("is not kept while it arrives", () => {
    const lines = new LineSplitter(1_000);
    const piece = "x".repeat(2 ** 26);
    // Together the pieces exceed the longest possible string, so joining them would throw.
    for (let count = 0; count < 10; count++) expect(lines.push(piece)).toEqual([]);
    expect(lines.push("\nnext\n")).toEqual([{ tooLongBytes: 10 * 2 ** 26 }, { text: "next" }]);
  });
});

it("a long line in very many pieces costs as much as its length, not its square", () => {
  const cost = (pieces: number) => {
    const lines = new LineSplitter(Number.MAX_SAFE_INTEGER);
    const start = process.cpuUsage();
    for (let count = 0; count < pieces; count++) lines.push("0123456789");
    expect(lines.push("\n")).toEqual([{ text: "0123456789".repeat(pieces) }]);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  cost(100_000);
  const some = Math.max(cost(100_000), 1_000);
  // Ten times the pieces: about ten times the cost if it is linear, a hundred times if it is not.
  expect(cost(1_000_000)).toBeLessThan(some * 50);
});
