import type * as z from "zod/mini";
import { oneOf, unexpected } from "../../lib/complaints.js";
import { AppError } from "../../lib/errors.js";

export class InvalidArguments extends AppError {
  readonly code = "invalid_arguments";
}

export interface ToolStruct<T extends z.ZodMiniObject> {
  readonly schema: T;
  /** The name Codex's complaints give the arguments, and how many fields they have. */
  readonly structName: string;
  readonly absent: string;
}

/** Checks a call's arguments. Complaints are worded as Codex words them, so that clients that match on them go on working. */
export function parseArguments<T extends z.ZodMiniObject>(value: unknown, { schema, structName, absent }: ToolStruct<T>): z.infer<T> {
  if (value === undefined || value === null) throw new InvalidArguments(absent);
  if (Array.isArray(value))
    throw unparsable(`invalid length ${value.length}, expected struct ${structName} with ${Object.keys(schema.shape).length} elements`);
  if (typeof value !== "object") throw unparsable(`invalid type: ${unexpected(value)}, expected struct ${structName}`);
  const checked = schema.safeParse(withoutNulls(value as Record<string, unknown>, schema));
  if (checked.success) return checked.data;
  throw unparsable(complaint(firstInOrder(checked.error.issues, Object.keys(value)), value as Record<string, unknown>));
}

function unparsable(why: string): InvalidArguments {
  return new InvalidArguments(`Failed to parse configuration for Codex tool: ${why}`);
}

/** An optional argument that is null counts as absent. */
function withoutNulls(value: Record<string, unknown>, schema: z.ZodMiniObject): Record<string, unknown> {
  const isOptional = (key: string) => schema.shape[key]?._zod.optin === "optional";
  return Object.fromEntries(Object.entries(value).filter(([key, entry]) => entry !== null || !isOptional(key)));
}

type Issue = z.core.$ZodIssue;

/** Codex reads arguments in the order they were sent, stops at the first bad one, and misses absent ones last. */
function firstInOrder(issues: readonly Issue[], keys: readonly string[]): Issue | undefined {
  const place = (issue: Issue) => {
    const at = keys.indexOf(String(issue.path[0]));
    return at < 0 ? keys.length : at;
  };
  return [...issues].sort((a, b) => place(a) - place(b))[0];
}

function complaint(issue: Issue | undefined, value: Record<string, unknown>): string {
  const key = String(issue?.path[0]);
  if (issue === undefined || !(key in value)) return `missing field \`${key}\``;
  const given = value[key];
  if (issue.code === "invalid_value" && typeof given === "string")
    return `unknown variant \`${given}\`, expected ${oneOf(issue.values.map(String))}`;
  const expected = issue.code === "invalid_type" ? issue.expected : "string";
  return `invalid type: ${unexpected(given)}, expected ${expected === "record" || expected === "object" ? "a map" : "a string"}`;
}
