import { InvalidArguments } from "../../agent/errors.js";
import { alternatives, unexpected } from "../../lib/complaints.js";
import { isFields } from "../../lib/fields.js";
import type { ArgumentSchema, InputSchema, ToolArguments, ValuesOf } from "./schema.js";

export interface CodexWording {
  /** The name that Codex's complaints give the arguments. */
  readonly structName: string;
  /** The complaint about a call without arguments. */
  readonly absent: string;
}

/** What arguments are checked against, and how complaints are worded. Without Codex's wording, no arguments are like an empty map. */
export interface Expected {
  readonly schema: InputSchema;
  readonly tool: string;
  readonly wording?: CodexWording | undefined;
}

/**
 * Checks a call's arguments. Complaints about Codex's tools are worded as Codex words them, so that clients that match on them go on
 * working: it reads arguments in the order they were sent, stops at the first bad one, misses absent ones last, and takes an
 * optional one that is null for absent.
 */
export function parseArguments<A extends ToolArguments>(args: unknown, expected: Expected): ValuesOf<A> {
  const { schema, wording } = expected;
  const { properties: known, required = [] } = schema;
  if (wording && (args ?? undefined) === undefined) throw new InvalidArguments(wording.absent);
  const value = args ?? {};
  if (!isFields(value)) throw unparsable(noMap(value, expected), expected);
  const given = Object.entries(value).filter(([name, entry]) => Object.hasOwn(known, name) && (entry !== null || required.includes(name)));
  for (const [name, entry] of given) {
    const problem = problemWith(entry, known[name]);
    if (problem !== undefined) throw unparsable(problem, expected, name);
  }
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) throw unparsable(`missing field \`${missing}\``, expected);
  // Every field was checked against the schema that A declares.
  return Object.fromEntries(given) as ValuesOf<A>;
}

function noMap(value: unknown, { schema, wording }: Expected): string {
  if (!wording) return `invalid type: ${unexpected(value)}, expected a map`;
  return Array.isArray(value)
    ? `invalid length ${value.length}, expected struct ${wording.structName} with ${Object.keys(schema.properties).length} elements`
    : `invalid type: ${unexpected(value)}, expected struct ${wording.structName}`;
}

function problemWith(entry: unknown, schema: ArgumentSchema | undefined): string | undefined {
  const { fits, expected } = KINDS[schema?.type ?? "string"];
  if (!fits(entry)) return `invalid type: ${unexpected(entry)}, expected ${expected}`;
  if (schema?.enum && !schema.enum.some((choice) => choice === entry))
    return `unknown variant \`${String(entry)}\`, expected ${alternatives(schema.enum)}`;
  const { minimum = -Infinity, maximum = Infinity } = schema ?? {};
  if (typeof entry === "number" && (entry < minimum || entry > maximum))
    return `invalid value: ${unexpected(entry)}, expected a whole number from ${minimum} to ${maximum}`;
  return undefined;
}

interface Kind {
  readonly fits: (entry: unknown) => boolean;
  readonly expected: string;
}

const KINDS: Readonly<Record<ArgumentSchema["type"], Kind>> = {
  string: { fits: (entry) => typeof entry === "string", expected: "a string" },
  object: { fits: isFields, expected: "a map" },
  array: { fits: (entry) => Array.isArray(entry) && entry.every((part) => typeof part === "string"), expected: "a sequence of strings" },
  integer: { fits: Number.isSafeInteger, expected: "a whole number" },
  boolean: { fits: (entry) => typeof entry === "boolean", expected: "a boolean" },
};

function unparsable(why: string, { tool, wording }: Expected, argument?: string): InvalidArguments {
  if (wording) return new InvalidArguments(`Failed to parse configuration for Codex tool: ${why}`);
  return new InvalidArguments(`${tool}: ${argument === undefined ? "" : `\`${argument}\`: `}${why}`);
}
