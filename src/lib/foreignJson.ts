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
