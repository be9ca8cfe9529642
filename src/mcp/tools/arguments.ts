import { oneOf, unexpected } from "../../lib/complaints.js";
import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";

export class InvalidArguments extends AppError {
  readonly code = "invalid_arguments";
}

export type ToolStruct<T> = ArgumentsSchema<T> & (CodexWording | OwnWording);

interface ArgumentsSchema<T> {
  /** The JSON Schema that was generated from the declaration of T. */
  readonly schema: { readonly properties: Readonly<Record<keyof T & string, ArgumentSchema>>; readonly required?: readonly string[] };
}

interface CodexWording {
  /** The name Codex's complaints give the arguments. */
  readonly structName: string;
  /** The complaint about a call without arguments. */
  readonly absent: string;
}

/** Complaints name the tool and the argument; a call without arguments is like one with an empty map. */
interface OwnWording {
  readonly tool: string;
}

/** Arguments are texts, choices of texts, lists of texts, whole numbers, yes or no, or maps. */
interface ArgumentSchema {
  readonly type: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * Checks a call's arguments. Complaints about Codex's tools are worded as Codex words them, so that clients that match on them go on
 * working: it reads arguments in the order they were sent, stops at the first bad one, misses absent ones last, and takes an
 * optional one that is null for absent.
 */
export function parseArguments<T>(args: unknown, struct: ToolStruct<T>): T {
  const known: Readonly<Record<string, ArgumentSchema>> = struct.schema.properties;
  const required = struct.schema.required ?? [];
  if ("absent" in struct && (args ?? undefined) === undefined) throw new InvalidArguments(struct.absent);
  const value = args ?? {};
  if (!isFields(value)) throw unparsable(noMap(value, struct), struct);
  const given = Object.entries(value).filter(([name, entry]) => Object.hasOwn(known, name) && (entry !== null || required.includes(name)));
  for (const [name, entry] of given) {
    const problem = problemWith(entry, known[name]);
    if (problem !== undefined) throw unparsable(problem, struct, name);
  }
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) throw unparsable(`missing field \`${missing}\``, struct);
  // Every field was checked against the schema that was made from T.
  return Object.fromEntries(given) as T;
}

function noMap(value: unknown, struct: ToolStruct<unknown>): string {
  if (!("structName" in struct)) return `invalid type: ${unexpected(value)}, expected a map`;
  const { structName, schema } = struct;
  return Array.isArray(value)
    ? `invalid length ${value.length}, expected struct ${structName} with ${Object.keys(schema.properties).length} elements`
    : `invalid type: ${unexpected(value)}, expected struct ${structName}`;
}

function problemWith(entry: unknown, schema: ArgumentSchema | undefined): string | undefined {
  const { fits, expected } = KINDS[schema?.type ?? ""] ?? TEXT;
  if (!fits(entry)) return `invalid type: ${unexpected(entry)}, expected ${expected}`;
  if (schema?.enum && !schema.enum.some((choice) => choice === entry))
    return `unknown variant \`${String(entry)}\`, expected ${oneOf(schema.enum)}`;
  const { minimum = -Infinity, maximum = Infinity } = schema ?? {};
  if (typeof entry === "number" && (entry < minimum || entry > maximum))
    return `invalid value: ${unexpected(entry)}, expected a whole number from ${minimum} to ${maximum}`;
  return undefined;
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

function unparsable(why: string, struct: CodexWording | OwnWording, argument?: string): InvalidArguments {
  if (!("tool" in struct)) return new InvalidArguments(`Failed to parse configuration for Codex tool: ${why}`);
  return new InvalidArguments(`${struct.tool}: ${argument === undefined ? "" : `\`${argument}\`: `}${why}`);
}
