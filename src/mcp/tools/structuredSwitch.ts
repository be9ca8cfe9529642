/**
 * Reads `STRUCTURED_CONTENT_ENABLED` like the npm wrapper, but the default is on. Clients that validate refuse a result without the fields
 * of its schema, so turning it off removes the schema too.
 */
export function givesStructured(env: Readonly<NodeJS.ProcessEnv>): boolean {
  return !["0", "false", "no", "off"].includes((env["STRUCTURED_CONTENT_ENABLED"] ?? "").trim().toLowerCase());
}
