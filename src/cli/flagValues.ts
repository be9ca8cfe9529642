import { UsageError } from "../lib/errors.js";
import type { FlagName } from "./options.js";

/** What was given on the command line, by flag. */
export type Values = Readonly<Partial<Record<FlagName, string | boolean | readonly (string | boolean)[]>>>;

export function choice<const T extends string>(flag: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((name) => name === value);
  if (found === undefined) throw new UsageError(`invalid value '${value}' for ${flag}: expected ${allowed.join(", ")}`);
  return found;
}

/** Longer than a day is a mistake, and longer than about 24 days no timer can wait. */
const MAX_SECONDS = 86_400;

export function seconds(flag: string, value: string): number {
  const number = Number(value);
  if (value.trim() === "" || !(number >= 0 && number <= MAX_SECONDS))
    throw new UsageError(`invalid value '${value}' for ${flag}: expected seconds from 0 to ${MAX_SECONDS}`);
  return number * 1000;
}

export function text(value: Values[FlagName]): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function texts(value: Values[FlagName]): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}
