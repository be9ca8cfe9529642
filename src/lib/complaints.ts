/** The names that were allowed, as serde lists them. */
export function alternatives(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return quoted.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
}

/** A value from JSON or TOML as serde names what it did not expect. JSON does not tell 5 from 5.0: a whole number is an integer. */
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
