import { describe, expect, it } from "vitest";
import { parseOptions } from "./options.js";

const known = { cases: ["start", "turns"], targets: ["ours", "floor", "peer"] };

describe("parseOptions", () => {
  it("measures everything in three rounds by default", () => {
    expect(parseOptions([], known)).toEqual({ rounds: 3, ...known, jsonFile: undefined, help: false });
  });

  it("--quick measures our server and the floor in one round; explicit options override it", () => {
    expect(parseOptions(["--quick", "--cases", "turns", "--rounds", "2"], known)).toMatchObject({
      rounds: 2,
      cases: ["turns"],
      targets: ["ours", "floor"],
    });
  });

  it("measures our server on each named Node, now and before the change, in the cases that depend on Node", () => {
    const all = { cases: ["start", "long"], targets: ["ours", "node-22", "before-22", "node-24", "before-24"] };
    expect(parseOptions(["--nodes", "22,24"], all)).toMatchObject({
      cases: ["start"],
      targets: ["node-22", "before-22", "node-24", "before-24"],
    });
    expect(parseOptions([], all)).toMatchObject({ cases: all.cases, targets: ["ours"] });
  });

  it.each([
    [["--nodes", "18"], '"18" is none of 20, 22, 24'],
    [["--cases", "turn"], '"turn" is none of start, turns'],
    [["--targets", "ours,other"], '"other" is none of ours, floor, peer'],
    [["--rounds", "0"], '--rounds takes a whole number from 1, not "0"'],
  ])("refuses %j", (argv, message) => {
    expect(() => parseOptions(argv, known)).toThrow(message);
  });
});
