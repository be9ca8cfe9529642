import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { readArguments } from "./tool.js";

const Shell = z.object({
  command: z.array(z.string()),
  timeout_ms: z.optional(z.number().check(z.nonnegative())),
  sandbox_permissions: z.optional(z.enum(["use_default", "require_escalated"])),
});

function complaint(args: string, asRecorded: boolean): string {
  const read = readArguments(args, Shell, { asRecorded });
  return "complaint" in read ? read.complaint.replace("failed to parse function arguments: ", "") : "none";
}

describe("readArguments", () => {
  it.each([
    ['{"command":"ls"}', 'invalid type: string "ls", expected a sequence in `command`'],
    ["{}", "missing field `command`"],
    [
      '{"command":[],"sandbox_permissions":"odd"}',
      "unknown variant `odd`, expected `use_default` or `require_escalated` in `sandbox_permissions`",
    ],
  ])("names the field that is wrong in %s", (args, said) => {
    expect(complaint(args, false)).toBe(said);
  });

  // The answers of Codex 0.92.0.
  it.each([
    ['{"command":5}', "invalid type: integer `5`, expected a sequence at line 1 column 12"],
    ['{"command":{}}', "invalid type: map, expected a sequence at line 1 column 11"],
    ['{"command":[1]}', "invalid type: integer `1`, expected a string at line 1 column 13"],
    ['{"command":null}', "invalid type: null, expected a sequence at line 1 column 15"],
    ['{"command":["ls"],"timeout_ms":"x"}', 'invalid type: string "x", expected u64 at line 1 column 34'],
    ['{"command":["ls"],"timeout_ms":-1}', "invalid value: integer `-1`, expected u64 at line 1 column 33"],
    [
      '{"command":["ls"],"sandbox_permissions":"odd"}',
      "unknown variant `odd`, expected `use_default` or `require_escalated` at line 1 column 45",
    ],
    ['{"command":["ls"],"sandbox_permissions":5}', "expected value at line 1 column 41"],
    ["{}", "missing field `command` at line 1 column 2"],
    ['{ "command" : "é" }', 'invalid type: string "é", expected a sequence at line 1 column 18'],
    ["not json", "expected ident at line 1 column 2"],
  ])("says of %s where in the text it is wrong, as recorded", (args, said) => {
    expect(complaint(args, true)).toBe(said);
  });
});
