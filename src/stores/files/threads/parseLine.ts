import { type Fields, isFields } from "../../../lib/fields.js";

/** A line of a rollout; undefined for one that nobody can understand. */
export function parseLine(bytes: Buffer): { readonly type: unknown; readonly payload: Fields } | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString("utf8"));
    return isFields(line) && isFields(line["payload"]) ? { type: line["type"], payload: line["payload"] } : undefined;
  } catch {
    return undefined;
  }
}
