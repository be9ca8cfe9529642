import type * as z from "zod/mini";
import { alternatives, unexpected } from "../../../lib/complaints.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { JsonFault, lineAndColumn, placeKey, readPlaces } from "../../../lib/serdeJson.js";
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
  /** Takes the text's place: pictures inside the output, as Codex sent them. */
  readonly parts?: readonly Fields[];
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
  /** Complaints are worded as Codex 0.92.0 worded them. */
  readonly asRecorded: boolean;
}

/** A call's arguments, checked; or the complaint that the model gets as its output. */
export function readArguments<T extends z.ZodMiniType>(
  args: string,
  schema: T,
  { asRecorded }: Pick<ToolContext, "asRecorded">,
): { readonly value: z.infer<T> } | { readonly complaint: string } {
  const complain = (what: string) => ({ complaint: `failed to parse function arguments: ${what}` });
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch (error) {
    const fault = asRecorded ? readPlaces(args) : undefined;
    if (fault instanceof JsonFault) return complain(`${fault.message} at ${lineAndColumn(args, fault.offset)}`);
    return complain(error instanceof Error ? error.message : String(error));
  }
  const checked = schema.safeParse(value);
  if (checked.success) return { value: checked.data };
  const [issue] = checked.error.issues;
  if (!issue) return complain("invalid");
  return complain(asRecorded ? recordedComplaint(issue, value, args) : complaint(issue, value));
}

/** Says what is wrong where, so that the model can do better. */
function complaint(issue: z.core.$ZodIssue, value: unknown): string {
  const given = givenAt(issue.path, value);
  const field = issue.path.join(".");
  if (issue.code === "unrecognized_keys") return `unknown field \`${issue.keys.join("`, `")}\``;
  if (given === undefined && field !== "") return `missing field \`${field}\``;
  const where = field === "" ? "" : ` in \`${field}\``;
  if (issue.code === "invalid_value" && typeof given === "string")
    return `unknown variant \`${given}\`, expected ${alternatives(issue.values.map(String))}${where}`;
  if (issue.code !== "invalid_type") return `invalid value: ${unexpected(given)}${where}`;
  return `invalid type: ${unexpected(given)}, expected ${EXPECTED[issue.expected] ?? issue.expected}${where}`;
}

/** The same as serde_json says it, which knows places in the text and no fields. */
function recordedComplaint(issue: z.core.$ZodIssue, value: unknown, args: string): string {
  const places = readPlaces(args);
  if (places instanceof JsonFault) return complaint(issue, value);
  const given = givenAt(issue.path, value);
  const name = String(issue.path.at(-1) ?? "");
  const around = places.values.get(placeKey(issue.path.slice(0, -1)));
  const at = (offset = args.length) => ` at ${lineAndColumn(args, offset)}`;
  if (given === undefined && name !== "") return `missing field \`${name}\`${at(around?.to)}`;
  const place = places.values.get(placeKey(issue.path));
  // What holds other values is complained about before it is read.
  const read = at(typeof given === "object" && given !== null ? place?.from : place?.to);
  if (issue.code === "invalid_value") {
    if (typeof given !== "string") return `expected value${at(place && place.from + 1)}`;
    return `unknown variant \`${given}\`, expected ${alternatives(issue.values.map(String))}${read}`;
  }
  const kind = issue.code === "invalid_type" && !(Number.isInteger(given) && issue.expected === "int") ? "type" : "value";
  const expected = WHOLE_NUMBERS[name] ?? (issue.code === "invalid_type" ? (EXPECTED[issue.expected] ?? issue.expected) : "another");
  return `invalid ${kind}: ${unexpected(given)}, expected ${expected}${read}`;
}

function givenAt(path: readonly PropertyKey[], value: unknown): unknown {
  return path.reduce<unknown>((inner, key) => (isFields(inner) || Array.isArray(inner) ? Reflect.get(inner, key) : undefined), value);
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  array: "a sequence",
  number: "a number",
  int: "a whole number",
  boolean: "a boolean",
  object: "a map",
};

/** Arguments by the type they had in Codex. */
const WHOLE_NUMBERS: Readonly<Record<string, string>> = {
  timeout_ms: "u64",
  timeout: "u64",
  yield_time_ms: "u64",
  max_output_tokens: "usize",
  session_id: "i32",
};
