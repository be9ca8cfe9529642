import type * as z from "zod/mini";
import { alternatives, unexpected } from "../../../lib/complaints.js";
import { type Fields, isFields, parseForeignJson } from "../../../lib/fields.js";
import { JsonFault, lineAndColumn, placeAt, readPlaces } from "../../../lib/serdeJson.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";

/** A tool as the Responses API declares it. */
export type Declaration = Readonly<Record<string, unknown>>;

/** A tool: the code that runs when the model calls its name. */
export interface Tool {
  readonly name: string;
  /** Runs one call. Yields events for readers; returns the result for the model. Invalid arguments are a result, not an exception. */
  run(args: string, ctx: ToolContext): ToolRun;
}

/** A tool with the declaration for the model. */
export interface DeclaredTool extends Tool {
  readonly declaration: Declaration;
}

export type ToolRun = AsyncGenerator<readonly ThreadEvent[], ToolResult>;

export interface ToolResult {
  /** The text of the call's output. */
  readonly output: string;
  /** Replaces the text: images inside the output, as Codex sent them. */
  readonly parts?: readonly Fields[];
  /** Added for the model after the output. */
  readonly after?: readonly RawItem[];
  /** The model gets the output, and readers of the turn do not see it. */
  readonly isUnseen?: true;
  /** A person decided that the turn ends here. */
  readonly endsTurn?: true;
}

export interface ToolContext {
  readonly callId: string;
  readonly signal: AbortSignal;
  /** The call came as text, not as JSON arguments. */
  readonly isFreeform: boolean;
  /** Adds the item to the conversation at once, and returns the event that shows it. */
  readonly remember: (item: RawItem) => ThreadEvent;
  readonly ask: TurnContext["ask"];
  readonly beforeChanges?: TurnContext["beforeChanges"];
  /** Errors have the wording of Codex 0.92.0. */
  readonly asRecorded: boolean;
}

/** The names of a tool's arguments in the errors of Codex 0.92.0. */
export interface RecordedStruct {
  readonly name: string;
  /** In the order of its declaration. */
  readonly fields: readonly string[];
  /** The index of the first required field. */
  readonly firstNeeded?: number;
  /** The entries of lists, by the list's field. */
  readonly entries?: Readonly<Record<string, RecordedStruct>>;
}

/** A call's validated arguments, or the error text that the model gets as its output. */
export function readArguments<T extends z.ZodMiniType>(
  args: string,
  schema: T,
  { asRecorded }: Pick<ToolContext, "asRecorded">,
  struct?: RecordedStruct,
): { readonly value: z.infer<T> } | { readonly complaint: string } {
  const complain = (what: string) => ({ complaint: `failed to parse function arguments: ${what}` });
  let value: unknown;
  try {
    value = parseForeignJson(args);
  } catch (error) {
    const fault = asRecorded ? readPlaces(args) : undefined;
    if (fault instanceof JsonFault) return complain(`${fault.message} at ${lineAndColumn(args, fault.offset)}`);
    return complain(error instanceof Error ? error.message : String(error));
  }
  const misread = asRecorded ? misreadByNode(args, struct) : undefined;
  if (misread !== undefined) return complain(misread);
  const checked = unlessStackOverflows(() => schema.safeParse(value));
  if (!checked) return complain("too many invalid values");
  if (checked.success) return { value: checked.data };
  const [issue] = checked.error.issues;
  if (!issue) return complain("invalid");
  return complain(asRecorded ? recordedComplaint(issue, value, { args, struct }) : complaint(issue, value));
}

/** Undefined if the check overflows the stack, as it does when it collects complaints about hundreds of thousands of values. */
function unlessStackOverflows<T>(check: () => T): T | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** What serde_json refuses and Node accepts: a field twice, and a fraction or an exponent in a whole number. */
function misreadByNode(args: string, struct: RecordedStruct | undefined): string | undefined {
  const places = readPlaces(args);
  if (places instanceof JsonFault || !struct) return undefined;
  const twice = places.repeated.find(({ path }) => path.length === 1 && struct.fields.includes(String(path[0])));
  if (twice) return `duplicate field \`${String(twice.path[0])}\` at ${lineAndColumn(args, twice.keyTo)}`;
  for (const field of struct.fields.filter((name) => WHOLE_NUMBERS[name] !== undefined)) {
    const place = placeAt(places, [field]);
    const written = place ? args.slice(place.from, place.to) : "";
    if (place && (/^-?\d+(\.|[eE])/.test(written) || Number(written) >= 2 ** 64)) {
      const float = /[.eE]/.test(written) ? written.toLowerCase() : Number(written).toExponential().replace("+", "");
      return `invalid type: floating point \`${float}\`, expected ${WHOLE_NUMBERS[field]} at ${lineAndColumn(args, place.to)}`;
    }
  }
  return undefined;
}

/** Names the problem and its place, so that the model can correct it. */
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

/** The same in serde_json's wording, which has positions in the text instead of field names. */
function recordedComplaint(
  issue: z.core.$ZodIssue,
  value: unknown,
  { args, struct }: { readonly args: string; readonly struct: RecordedStruct | undefined },
): string {
  const places = readPlaces(args);
  if (places instanceof JsonFault) return complaint(issue, value);
  const given = givenAt(issue.path, value);
  const name = String(issue.path.at(-1) ?? "");
  const around = placeAt(places, issue.path.slice(0, -1));
  const at = (offset = args.length) => ` at ${lineAndColumn(args, offset)}`;
  const here = structAt(issue.path, struct);
  if (issue.code === "unrecognized_keys" && here) {
    const [unknown = ""] = issue.keys;
    return `unknown field \`${unknown}\`, expected ${alternatives(here.fields)}${at(placeAt(places, [...issue.path, unknown])?.keyTo)}`;
  }
  if (here && given !== undefined && issue.code === "invalid_type") {
    const { to } = placeAt(places, issue.path) ?? {};
    return `${Array.isArray(given) ? tooShort(given, here) : `invalid type: ${unexpected(given)}, expected struct ${here.name}`}${at(to)}`;
  }
  if (given === undefined && name !== "") return `missing field \`${name}\`${at(around?.to)}`;
  const place = placeAt(places, issue.path);
  // serde_json reports objects and lists at their start, other values at their end.
  const read = at(typeof given === "object" && given !== null ? place?.from : place?.to);
  if (issue.code === "invalid_value") {
    // serde_json expects an object with exactly one key.
    if (typeof given !== "string") return `expected value${at(place && place.from + (isFields(given) ? 2 : 1))}`;
    return `unknown variant \`${given}\`, expected ${alternatives(issue.values.map(String))}${read}`;
  }
  const kind = issue.code === "invalid_type" && !(Number.isInteger(given) && issue.expected === "int") ? "type" : "value";
  const expected = WHOLE_NUMBERS[name] ?? (issue.code === "invalid_type" ? (EXPECTED[issue.expected] ?? issue.expected) : "another");
  return `invalid ${kind}: ${unexpected(given)}, expected ${expected}${read}`;
}

function structAt(path: readonly PropertyKey[], struct: RecordedStruct | undefined): RecordedStruct | undefined {
  if (path.length === 0) return struct;
  return path.length === 2 ? struct?.entries?.[String(path[0])] : undefined;
}

/** serde accepts a list in place of an object: the values of the fields, in order. */
function tooShort(given: readonly unknown[], { name, fields, firstNeeded = 0 }: RecordedStruct): string {
  const elements = fields.length === 1 ? "1 element" : `${fields.length} elements`;
  return `invalid length ${Math.max(given.length, firstNeeded)}, expected struct ${name} with ${elements}`;
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

/** Arguments by their type in Codex. */
const WHOLE_NUMBERS: Readonly<Record<string, string>> = {
  timeout_ms: "u64",
  timeout: "u64",
  yield_time_ms: "u64",
  max_output_tokens: "usize",
  session_id: "i32",
};
