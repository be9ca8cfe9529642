import { type Fields, isFields } from "../../../lib/fields.js";

/** What the app-server sent, read without trust: a value of the wrong kind counts as absent. */

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Undefined for an empty text too. */
export function saidText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textsOf(value: unknown): string[] {
  return listOf(value).filter((entry) => typeof entry === "string");
}
