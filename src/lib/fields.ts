/** A JSON object from outside: any key may be missing or of any type. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOrNothing(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value, if it is one of the allowed words. */
export function oneOf<Word extends string>(allowed: readonly Word[], value: unknown): Word | undefined {
  return allowed.find((word) => word === value);
}

/** The same object without keys whose value is undefined: such a key would override a default when settings are merged. */
export function withoutUndefined<T extends object>(value: T): T {
  // Only keys with an undefined value are removed, and those are optional in T.
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}
