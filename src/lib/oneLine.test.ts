import { expect, it } from "vitest";
import { oneLine } from "./oneLine.js";

it.each([
  ["", ""],
  ["  look\n\taround  here ", "look around here"],
  ["0123456789abcdef", "0123456789abcdef"],
  ["0123456789abcdefg", "0123456789abcde…"],
  ["🙂".repeat(16), "🙂".repeat(16)],
  ["🙂".repeat(17), `${"🙂".repeat(15)}…`],
])("a text becomes one line that is not too long: %j", (text, line) => {
  expect(oneLine(text, 16)).toBe(line);
});
