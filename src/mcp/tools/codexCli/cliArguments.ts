import { InvalidArguments } from "../../../agent/errors.js";
import { isFields } from "../../../lib/fields.js";
import type { ArgumentSchema, ExpectedArguments } from "../tool.js";

/** A problem with one argument, in the format of the npm wrapper: the fields and words of zod 4, which its callers may match on. */
type Issue = Readonly<Record<string, unknown>>;

/** The arguments of a call are invalid. The message is what the wrapper reported after the tool's name. */
export class CliArgumentsInvalid extends InvalidArguments {
  constructor(tool: string, what: string | readonly Issue[]) {
    super(`Validation failed for tool "${tool}": ${typeof what === "string" ? what : JSON.stringify(what, null, 2)}`);
  }
}

/** Rules for strings beyond their type, which the schema does not express. */
interface TextRule {
  readonly atLeast?: { readonly length: number; readonly message: string };
  readonly atMost?: { readonly length: number; readonly message: string };
  readonly pattern?: { readonly is: RegExp; readonly message: string };
}

const TEXT_RULES: Readonly<Record<string, TextRule>> = {
  sessionId: {
    atMost: { length: 256, message: "Session ID must be 256 characters or fewer" },
    pattern: { is: /^[a-zA-Z0-9_-]+$/, message: "Session ID can only contain letters, numbers, hyphens, and underscores" },
  },
  query: { atLeast: { length: 1, message: "Search query cannot be empty" } },
};

/**
 * Checks the arguments of a call in the set `codex-cli`. Reports all problems together. Unknown arguments are ignored, and an optional
 * argument that is null counts as absent. Throws `CliArgumentsInvalid`.
 */
export function parseCliArguments(args: unknown, { name: tool, inputSchema }: ExpectedArguments): Readonly<Record<string, unknown>> {
  if (!isFields(args)) throw new CliArgumentsInvalid(tool, [wrongType("object", args, [])]);
  const { properties, required = [] } = inputSchema;
  const given: [string, unknown][] = [];
  const issues: Issue[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if ((value ?? undefined) === undefined && !required.includes(name)) continue;
    issues.push(...issuesWith(value, name, schema));
    given.push([name, value]);
  }
  if (issues.length > 0) throw new CliArgumentsInvalid(tool, issues);
  return Object.fromEntries(given);
}

function issuesWith(value: unknown, name: string, { type, enum: values, minimum, maximum }: ArgumentSchema): readonly Issue[] {
  const path = [name];
  if (values) {
    if (values.some((known) => known === value)) return [];
    const choices = values.map((known) => JSON.stringify(known)).join("|");
    return [{ code: "invalid_value", values, path, message: `Invalid option: expected one of ${choices}` }];
  }
  if (type === "integer") return numberIssues(value, path, { minimum, maximum });
  // oxlint-disable-next-line valid-typeof -- for strings and booleans, JSON Schema and `typeof` use the same word
  if (typeof value !== type) return [wrongType(type, value, path)];
  return typeof value === "string" ? textIssues(value, path, Object.hasOwn(TEXT_RULES, name) ? TEXT_RULES[name] : undefined) : [];
}

function numberIssues(value: unknown, path: readonly string[], { minimum, maximum }: Pick<ArgumentSchema, "minimum" | "maximum">): Issue[] {
  if (typeof value !== "number" || Number.isNaN(value)) return [wrongType("number", value, path)];
  const [origin, inclusive] = ["number", true];
  return [
    ...(Number.isSafeInteger(value) ? [] : [wholeNumberMissing(value, path)]),
    ...(minimum !== undefined && value < minimum
      ? [{ origin, code: "too_small", minimum, inclusive, path, message: `Too small: expected number to be >=${minimum}` }]
      : []),
    ...(maximum !== undefined && value > maximum
      ? [{ origin, code: "too_big", maximum, inclusive, path, message: `Too big: expected number to be <=${maximum}` }]
      : []),
  ];
}

function wholeNumberMissing(value: number, path: readonly string[]): Issue {
  return {
    expected: "int",
    format: "safeint",
    code: "invalid_type",
    path,
    message: `Invalid input: expected int, received ${typeof value}`,
  };
}

function textIssues(text: string, path: readonly string[], { atLeast, atMost, pattern }: TextRule = {}): Issue[] {
  const [origin, inclusive] = ["string", true];
  return [
    ...(atLeast && text.length < atLeast.length
      ? [{ origin, code: "too_small", minimum: atLeast.length, inclusive, path, message: atLeast.message }]
      : []),
    ...(atMost && text.length > atMost.length
      ? [{ origin, code: "too_big", maximum: atMost.length, inclusive, path, message: atMost.message }]
      : []),
    ...(pattern && !pattern.is.test(text)
      ? [{ origin, code: "invalid_format", format: "regex", pattern: String(pattern.is), path, message: pattern.message }]
      : []),
  ];
}

function wrongType(expected: string, value: unknown, path: readonly string[]): Issue {
  return { expected, code: "invalid_type", path, message: `Invalid input: expected ${expected}, received ${kindOf(value)}` };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isNaN(value) ? "NaN" : typeof value;
}
