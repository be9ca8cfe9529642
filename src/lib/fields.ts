/** A JSON object from outside: any key may be missing or of any type. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * More levels than anybody's schema or result has, and fewer than Codex and other strict readers accept in a line that contains the value.
 * Node reads far more levels, but fails when it writes them.
 */
export const MOST_LEVELS = 100;

/** Whether objects and lists are nested in more levels. Without recursion, which ends at some thousand levels. */
export function isNestedTooDeeply(value: unknown): boolean {
  let level = [value].filter(isNesting);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === MOST_LEVELS) return true;
    level = level.flatMap((entry) => Object.values(entry).filter(isNesting));
  }
  return false;
}

function isNesting(value: unknown): value is object {
  return typeof value === "object" && value !== null;
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
