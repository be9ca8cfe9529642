import { describe, expect, it } from "vitest";
import { InvalidUuid, parseThreadId } from "./uuid.js";

const ID = "0199a213-81c0-7800-8aa1-bbab2a035a53";

describe("a thread's id is understood", () => {
  it.for([
    ["in the usual form", ID],
    ["in capitals", ID.toUpperCase()],
    ["without hyphens", ID.replaceAll("-", "")],
    ["in braces", `{${ID}}`],
    ["in braces without hyphens", `{${ID.replaceAll("-", "")}}`],
    ["as a URN", `urn:uuid:${ID}`],
  ] as const)("%s", ([, written]) => {
    expect(parseThreadId(written)).toBe(ID);
  });
});

describe("a text that is no UUID is refused with Codex's message", () => {
  it.for([
    ["", "invalid length: expected length 32 for simple format, found 0"],
    ["abc", "invalid length: expected length 32 for simple format, found 3"],
    ["not-a-uuid", "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1"],
    [`${ID}!`, "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `!` at 37"],
    ["urn:uuid:x", "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 10"],
    ["a-b", "invalid group count: expected 5, found 2"],
    ["{}", "invalid group count: expected 5, found 1"],
    ["a-b-c-d-e", "invalid group length in group 0: expected 8, found 1"],
    ["0199a213-81c0-7800-8aa1-bbab2a035a5", "invalid group length in group 4: expected 12, found 11"],
  ] as const)("%j", ([text, complaint]) => {
    expect(() => parseThreadId(text)).toThrow(new InvalidUuid(complaint));
  });
});

it("an id that would lead out of a folder is no id", () => {
  expect(() => parseThreadId("../../../../etc/passwd")).toThrow(InvalidUuid);
});
