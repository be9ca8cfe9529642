/** A JSON object somebody else wrote: any key may be missing or of any type. */
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
