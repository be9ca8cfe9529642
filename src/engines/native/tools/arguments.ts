import type * as z from "zod/mini";
import { oneOf, unexpected } from "../../../lib/complaints.js";
import { isFields } from "../../../lib/fields.js";

/** A call's arguments, checked; or the complaint that the model gets as its output. */
export function readArguments<T extends z.ZodMiniType>(
  args: string,
  schema: T,
): { readonly value: z.infer<T> } | { readonly complaint: string } {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch (error) {
    return { complaint: `failed to parse function arguments: ${error instanceof Error ? error.message : String(error)}` };
  }
  const checked = schema.safeParse(value);
  if (checked.success) return { value: checked.data };
  const [issue] = checked.error.issues;
  return { complaint: `failed to parse function arguments: ${issue ? complaint(issue, value) : "invalid"}` };
}

/** Says what is wrong where, so that the model can do better. */
function complaint(issue: z.core.$ZodIssue, value: unknown): string {
  const given = issue.path.reduce<unknown>(
    (inner, key) => (isFields(inner) || Array.isArray(inner) ? Reflect.get(inner, key) : undefined),
    value,
  );
  const field = issue.path.join(".");
  if (issue.code === "unrecognized_keys") return `unknown field \`${issue.keys.join("`, `")}\``;
  if (given === undefined && field !== "") return `missing field \`${field}\``;
  const where = field === "" ? "" : ` in \`${field}\``;
  if (issue.code === "invalid_value" && typeof given === "string")
    return `unknown variant \`${given}\`, expected ${oneOf(issue.values.map(String))}${where}`;
  if (issue.code !== "invalid_type") return `invalid value: ${unexpected(given)}${where}`;
  return `invalid type: ${unexpected(given)}, expected ${EXPECTED[issue.expected] ?? issue.expected}${where}`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  array: "a sequence",
  number: "a number",
  boolean: "a boolean",
  object: "a map",
};
