import { oneOf, unexpected } from "../../lib/complaints.js";
import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";

export class InvalidArguments extends AppError {
  readonly code = "invalid_arguments";
}

export interface ToolStruct<T> {
  /** The JSON Schema that was generated from the declaration of T. Arguments are texts, choices of texts, or maps. */
  readonly schema: { readonly properties: Readonly<Record<keyof T & string, ArgumentSchema>>; readonly required: readonly string[] };
  /** The name Codex's complaints give the arguments, and how many fields they have. */
  readonly structName: string;
  readonly absent: string;
}

interface ArgumentSchema {
  readonly type: string;
  readonly enum?: readonly string[];
}

/**
 * Checks a call's arguments. Complaints are worded as Codex words them, so that clients that match on them go on working: it reads arguments in
 * the order they were sent, stops at the first bad one, misses absent ones last, and takes an optional one that is null for absent.
 */
export function parseArguments<T>(value: unknown, { schema, structName, absent }: ToolStruct<T>): T {
  const known: Readonly<Record<string, ArgumentSchema>> = schema.properties;
  if (value === undefined || value === null) throw new InvalidArguments(absent);
  if (Array.isArray(value))
    throw unparsable(`invalid length ${value.length}, expected struct ${structName} with ${Object.keys(known).length} elements`);
  if (!isFields(value)) throw unparsable(`invalid type: ${unexpected(value)}, expected struct ${structName}`);
  const given = Object.entries(value).filter(
    ([name, entry]) => Object.hasOwn(known, name) && (entry !== null || schema.required.includes(name)),
  );
  for (const [name, entry] of given) check(entry, known[name]);
  const missing = schema.required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) throw unparsable(`missing field \`${missing}\``);
  // Every field was checked against the schema that was made from T.
  return Object.fromEntries(given) as T;
}

function check(entry: unknown, schema: ArgumentSchema | undefined): void {
  const fits = schema?.type === "object" ? isFields(entry) : typeof entry === "string";
  if (!fits) throw unparsable(`invalid type: ${unexpected(entry)}, expected ${schema?.type === "object" ? "a map" : "a string"}`);
  if (schema?.enum && !schema.enum.some((choice) => choice === entry))
    throw unparsable(`unknown variant \`${String(entry)}\`, expected ${oneOf(schema.enum)}`);
}

function unparsable(why: string): InvalidArguments {
  return new InvalidArguments(`Failed to parse configuration for Codex tool: ${why}`);
}
