import { type Fields, isFields } from "../../../lib/fields.js";

/** Reads a message of the app-server without trusting it: a value of the wrong type counts as absent. */

export function asFields(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Also undefined for an empty string. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function asNumber(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asTexts(value: unknown): string[] {
  return asList(value).filter((entry) => typeof entry === "string");
}
