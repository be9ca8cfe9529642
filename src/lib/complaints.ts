/** The allowed names in serde's wording. */
export function alternatives(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return quoted.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
}

/**
 * Describes a JSON or TOML value of an unexpected type in serde's wording. JSON does not distinguish 5 from 5.0: a whole number is an
 * integer.
 */
export function unexpected(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "sequence";
  switch (typeof value) {
    case "string":
      return `string ${JSON.stringify(value)}`;
    case "bigint":
      return `integer \`${value}\``;
    case "number":
      if (isWholeNumber(value)) return `integer \`${value}\``;
      return `floating point \`${Number.isInteger(value) ? `${BigInt(value)}.0` : value}\``;
    case "boolean":
      return `boolean \`${value}\``;
    default:
      return value instanceof Date ? "datetime" : "map";
  }
}

/** Whether serde takes a number for an integer: a larger one does not fit into 64 bits and becomes a floating point number. */
export function isWholeNumber(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 64;
}
