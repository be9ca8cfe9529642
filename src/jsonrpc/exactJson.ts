import { randomUUID } from "node:crypto";
import { isFields } from "../lib/fields.js";

/** A string, or an integer that a number may be unable to hold. */
const STRING_OR_LONG_INTEGER = /"(?:[^"\\]+|\\.)*"|-?\d{16,}(?![\d.eE])/g;

/**
 * `JSON.parse` for messages: where a message names a request, an integer that a number cannot hold becomes a bigint. Ids are repeated to whoever
 * sent them, who would not know a rounded one. Everything else is as `JSON.parse` reads it.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!(Array.isArray(value) ? value.some(hasRoundedId) : hasRoundedId(value))) return value;
  const exact: unknown = JSON.parse(text.replace(STRING_OR_LONG_INTEGER, (token) => (token.startsWith('"') ? token : `"${token}"`)));
  return Array.isArray(value)
    ? value.map((message, at) => withExactIds(message, Array.isArray(exact) ? exact[at] : undefined))
    : withExactIds(value, exact);
}

/** `JSON.stringify` that writes a bigint as the integer it is. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    // That is how it refuses a bigint; to try first keeps all other messages as fast as they are.
    if (!(error instanceof TypeError)) throw error;
    return textWithBigIntegers(value);
  }
}

/** A message names a request by its own id, as the one it cancels, and as the one whose progress it wants to hear of. */
function hasRoundedId(message: unknown): boolean {
  if (!isFields(message)) return false;
  const { id, params } = message;
  if (isRounded(id)) return true;
  if (!isFields(params)) return false;
  const { requestId, _meta } = params;
  return isRounded(requestId) || (isFields(_meta) && isRounded(_meta["progressToken"]));
}

function isRounded(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** `exact` is the same message with its long integers as strings. */
function withExactIds(message: unknown, exact: unknown): unknown {
  if (!hasRoundedId(message) || !isFields(message) || !isFields(exact)) return message;
  return {
    ...withExact(message, exact, "id"),
    ...("params" in message && { params: paramsWithExactIds(message["params"], exact["params"]) }),
  };
}

function paramsWithExactIds(params: unknown, exact: unknown): unknown {
  if (!isFields(params) || !isFields(exact)) return params;
  const { _meta } = params;
  const meta = isFields(_meta) && isFields(exact["_meta"]) ? { _meta: withExact(_meta, exact["_meta"], "progressToken") } : {};
  return { ...withExact(params, exact, "requestId"), ...meta };
}

function withExact(fields: Readonly<Record<string, unknown>>, exact: Readonly<Record<string, unknown>>, name: string) {
  const digits = exact[name];
  const isInexact = isRounded(fields[name]) && typeof digits === "string" && digits !== String(fields[name]);
  return isInexact ? { ...fields, [name]: BigInt(digits) } : fields;
}

function textWithBigIntegers(value: unknown): string {
  // Nobody who wrote a text in it can know this mark.
  const mark = randomUUID();
  const text = JSON.stringify(value, (_, held: unknown) => (typeof held === "bigint" ? `${mark}${held}` : held));
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
