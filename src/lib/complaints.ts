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
      return Number.isInteger(value) ? `integer \`${value}\`` : `floating point \`${value}\``;
    case "boolean":
      return `boolean \`${value}\``;
    default:
      return value instanceof Date ? "datetime" : "map";
  }
}
