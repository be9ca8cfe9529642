import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { type RecordedStruct, readArguments } from "./tool.js";

const Shell = z.object({
  command: z.array(z.string()),
  timeout_ms: z.optional(z.number().check(z.nonnegative())),
  sandbox_permissions: z.optional(z.enum(["use_default", "require_escalated"])),
});

const SHELL: RecordedStruct = { name: "ShellToolCallParams", fields: ["command", "timeout_ms", "sandbox_permissions"] };

const Plan = z.strictObject({ explanation: z.optional(z.string()), plan: z.array(z.strictObject({ step: z.string() })) });
const PLAN: RecordedStruct = {
  name: "UpdatePlanArgs",
  fields: ["explanation", "plan"],
  firstNeeded: 1,
  entries: { plan: { name: "PlanItemArg", fields: ["step", "status"] } },
};

function complaint(args: string, asRecorded: boolean, [schema, struct]: [z.ZodMiniType, RecordedStruct] = [Shell, SHELL]): string {
  const read = readArguments(args, schema, { asRecorded }, struct);
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

  it("replaces half a character", () => {
    expect(readArguments('{"command":["a\\ude00"]}', Shell, { asRecorded: false })).toEqual({ value: { command: ["a\uFFFD"] } });
  });

  it("does not name each of a million wrong values", () => {
    expect(complaint(`{"command":[${"1,".repeat(1_000_000)}1]}`, false)).toBe("too many invalid values");
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
    ["null", "invalid type: null, expected struct ShellToolCallParams at line 1 column 4"],
    ['"x"', 'invalid type: string "x", expected struct ShellToolCallParams at line 1 column 3'],
    ["[]", "invalid length 0, expected struct ShellToolCallParams with 3 elements at line 1 column 2"],
    ['{"command":["ls"],"timeout_ms":1.5}', "invalid type: floating point `1.5`, expected u64 at line 1 column 34"],
    ['{"command":["ls"],"timeout_ms":1e20}', "invalid type: floating point `1e20`, expected u64 at line 1 column 35"],
    ['{"command":["ls"],"timeout_ms":100000000000000000000}', "invalid type: floating point `1e20`, expected u64 at line 1 column 52"],
    ['{"command":["ls"],"command":["id"]}', "duplicate field `command` at line 1 column 27"],
    ['{"command":["ls"],"sandbox_permissions":{}}', "expected value at line 1 column 42"],
  ])("reports where %s is wrong in the text, as recorded", (args, said) => {
    expect(complaint(args, true)).toBe(said);
  });

  it.each([
    ["[]", "invalid length 1, expected struct UpdatePlanArgs with 2 elements at line 1 column 2"],
    ['{"plan":[5]}', "invalid type: integer `5`, expected struct PlanItemArg at line 1 column 10"],
    ['{"plan":[[]]}', "invalid length 0, expected struct PlanItemArg with 2 elements at line 1 column 11"],
    ['{"plan":[],"more":1}', "unknown field `more`, expected `explanation` or `plan` at line 1 column 17"],
    ['{"plan":[{"step":"a","extra":1}]}', "unknown field `extra`, expected `step` or `status` at line 1 column 28"],
  ])("names the structs inside %s", (args, said) => {
    expect(complaint(args, true, [Plan, PLAN])).toBe(said);
  });
});
