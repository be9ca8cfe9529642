/**
 * `STRUCTURED_CONTENT_ENABLED`, as the npm wrapper read it, but on unless it is turned off: a result without what its schema declares is refused by
 * clients that check. So it is turned off together with the schema.
 */
export function givesStructured(env: Readonly<NodeJS.ProcessEnv>): boolean {
  return !["0", "false", "no", "off"].includes((env["STRUCTURED_CONTENT_ENABLED"] ?? "").trim().toLowerCase());
}
