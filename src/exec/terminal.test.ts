import { expect, it } from "vitest";
import { NoTerminal, onTerminal } from "./terminal.js";

it("without the program that makes terminals there is none", () => {
  expect(() => onTerminal(["true"], { PATH: "/nowhere" })).toThrow(NoTerminal);
});
