import { oneOf, unexpected } from "../../lib/complaints.js";
import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";

export class InvalidArguments extends AppError {
  readonly code = "invalid_arguments";
}

export interface ToolStruct<T> {
  /** The JSON Schema that was generated from the declaration of T. */
  readonly schema: { readonly properties: Readonly<Record<keyof T & string, ArgumentSchema>>; readonly required?: readonly string[] };
  /** The name Codex's complaints give the arguments. */
  readonly structName: string;
  /** The complaint about a call without arguments; absent when that is like one with an empty map. */
  readonly absent?: string;
}

/** Arguments are texts, choices of texts, lists of texts, whole numbers, yes or no, or maps. */
interface ArgumentSchema {
  readonly type: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * Checks a call's arguments. Complaints are worded as Codex words them, so that clients that match on them go on working: it reads arguments in
 * the order they were sent, stops at the first bad one, misses absent ones last, and takes an optional one that is null for absent.
 */
export function parseArguments<T>(args: unknown, { schema, structName, absent }: ToolStruct<T>): T {
  const known: Readonly<Record<string, ArgumentSchema>> = schema.properties;
  const required = schema.required ?? [];
  const value = args ?? {};
  if (value !== args && absent !== undefined) throw new InvalidArguments(absent);
  if (Array.isArray(value))
    throw unparsable(`invalid length ${value.length}, expected struct ${structName} with ${Object.keys(known).length} elements`);
  if (!isFields(value)) throw unparsable(`invalid type: ${unexpected(value)}, expected struct ${structName}`);
  const given = Object.entries(value).filter(([name, entry]) => Object.hasOwn(known, name) && (entry !== null || required.includes(name)));
  for (const [name, entry] of given) check(entry, known[name]);
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) throw unparsable(`missing field \`${missing}\``);
  // Every field was checked against the schema that was made from T.
  return Object.fromEntries(given) as T;
}

function check(entry: unknown, schema: ArgumentSchema | undefined): void {
  const { fits, expected } = KINDS[schema?.type ?? ""] ?? TEXT;
  if (!fits(entry)) throw unparsable(`invalid type: ${unexpected(entry)}, expected ${expected}`);
  if (schema?.enum && !schema.enum.some((choice) => choice === entry))
    throw unparsable(`unknown variant \`${String(entry)}\`, expected ${oneOf(schema.enum)}`);
  const { minimum = -Infinity, maximum = Infinity } = schema ?? {};
  if (typeof entry === "number" && (entry < minimum || entry > maximum))
    throw unparsable(`invalid value: ${unexpected(entry)}, expected a whole number from ${minimum} to ${maximum}`);
}

interface Kind {
  readonly fits: (entry: unknown) => boolean;
  readonly expected: string;
}

const TEXT: Kind = { fits: (entry) => typeof entry === "string", expected: "a string" };
const KINDS: Readonly<Record<string, Kind>> = {
  object: { fits: isFields, expected: "a map" },
  array: { fits: (entry) => Array.isArray(entry) && entry.every((part) => typeof part === "string"), expected: "a sequence of strings" },
  integer: { fits: Number.isSafeInteger, expected: "a whole number" },
  boolean: { fits: (entry) => typeof entry === "boolean", expected: "a boolean" },
};

function unparsable(why: string): InvalidArguments {
  return new InvalidArguments(`Failed to parse configuration for Codex tool: ${why}`);
}
