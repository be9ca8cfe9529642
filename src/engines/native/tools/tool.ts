import type * as z from "zod/mini";
import { alternatives, unexpected } from "../../../lib/complaints.js";
import { isFields } from "../../../lib/fields.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";

/** A tool as the Responses API declares it. */
export type Declaration = Readonly<Record<string, unknown>>;

/** What happens when the model calls a name. */
export interface Tool {
  readonly name: string;
  /** Runs one call. Yields what a reader should see; returns what the model gets. Broken arguments are an answer, not an exception. */
  run(args: string, ctx: ToolContext): ToolRun;
}

/** A tool that brings the declaration the model is sent. */
export interface DeclaredTool extends Tool {
  readonly declaration: Declaration;
}

export type ToolRun = AsyncGenerator<readonly ThreadEvent[], ToolResult>;

export interface ToolResult {
  /** The text of the call's output. */
  readonly output: string;
  /** Said to the model after the output. */
  readonly after?: readonly RawItem[];
  /** Somebody decided that the turn is to end here. */
  readonly endsTurn?: true;
}

export interface ToolContext {
  readonly callId: string;
  readonly signal: AbortSignal;
  /** Adds to the conversation at once, and gives the event that shows it. */
  readonly remember: (item: RawItem) => ThreadEvent;
  readonly ask: TurnContext["ask"];
}

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
    return `unknown variant \`${given}\`, expected ${alternatives(issue.values.map(String))}${where}`;
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
