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

/** Finds nearly no text, and no text without an escaped surrogate. */
const SURROGATE = /\\ud[89a-f]/i;
/** Any escape: a pair of surrogates, one alone, or another one, whose second character must not be taken for a backslash. */
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u(d[89a-f][0-9a-f]{2})|.)/gis;

/**
 * `JSON.parse` for texts of others. An escape can stand for half a character, which Node accepts and strict readers refuse: a provider the
 * request, a client the whole message, and Codex the line of a thread. Each such half becomes the replacement character.
 */
export function parseForeignJson(json: string): unknown {
  return JSON.parse(SURROGATE.test(json) ? json.replace(ESCAPE, (whole, half?: string) => (half === undefined ? whole : "\uFFFD")) : json);
}
