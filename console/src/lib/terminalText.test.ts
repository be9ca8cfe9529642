import { expect, it } from "vitest";
import { terminalPieces } from "./terminalText.js";

const textOf = (output: string) =>
  terminalPieces(output)
    .map(({ text }) => text)
    .join("");

it("keeps colours and weights", () => {
  expect(terminalPieces("a\u001b[1;31mb\u001b[22mc\u001b[0md")).toEqual([
    { text: "a", style: "" },
    { text: "b", style: "t-bold t-fg1" },
    { text: "c", style: "t-fg1" },
    { text: "d", style: "" },
  ]);
  expect(terminalPieces("\u001b[38;5;10mx\u001b[38;2;1;2;3my\u001b[39;104mz")).toEqual([
    { text: "x", style: "t-fg10" },
    { text: "y", style: "t-fg10" },
    { text: "z", style: "t-bg12" },
  ]);
});

it("removes all other terminal sequences", () => {
  expect(textOf("a\u001b[2J\u001b[10;5Hb\u001b]0;title\u0007c\u001b]8;;javascript:alert(1)\u001b\\link\u001b]8;;\u001b\\\u001bcd")).toBe(
    "abclinkd",
  );
  expect(textOf("un\u001b]0;finished")).toBe("un");
  expect(textOf("back\u0008\u0000\u202eward")).toBe("backward");
});

it("shows the last version of an overwritten line", () => {
  expect(textOf("10 %\r50 %\r100 %\ndone\r\nend\r")).toBe("100 %\ndone\nend");
});

it("shows markup as text", () => {
  expect(terminalPieces("<img src=x onerror=alert(1)>")).toEqual([{ text: "<img src=x onerror=alert(1)>", style: "" }]);
});

it("reads long output of nothing but sequences in linear time", () => {
  expect(terminalPieces("\u001b[1mx\u001b[0m".repeat(20_000))).toHaveLength(20_000);
  expect(textOf(`${"\u001b]".repeat(50_000)}end`)).toBe("");
});
