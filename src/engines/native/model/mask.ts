/** Shorter values are words that a text may hold by chance. */
const SHORTEST_SECRET = 8;
/** Longer ones are looked for as they are, and as JSON and addresses write them. */
const LONGEST_SPELT_OUT = 1_024;
const MASK = "****";
/** Parameters that are no secret and that complaints are about. */
const HARMLESS = /^(?:api[-_]?)?version$/i;

/**
 * What a server says, without the values that it was sent: some repeat the key that they refuse, or the whole address. However they
 * write them: in JSON, percent-encoded, or for a page.
 */
export function maskSent(text: string, headers: Readonly<Record<string, string>>, url?: URL): string {
  const query = [...(url?.searchParams ?? [])].filter(([name]) => !HARMLESS.test(name));
  const values = [...Object.values(headers).map((value) => value.replace(/^(?:Bearer|Basic) /i, "")), ...credentialsIn(url)];
  const secrets = [...values, ...query.map(([, value]) => value)].filter(({ length }) => length >= SHORTEST_SECRET);
  // Longest first: one may be the beginning of another.
  const masked = [...new Set(secrets)].sort((a, b) => b.length - a.length).reduce(withoutSecret, text);
  return query.filter(([, value]) => value !== "" && value.length < SHORTEST_SECRET).reduce(withoutParameter, masked);
}

function credentialsIn(url: URL | undefined): string[] {
  return url ? [url.username, url.password].flatMap((part) => [part, decoded(part)]) : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Half of a character has no address. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

function withoutSecret(text: string, secret: string): string {
  if (secret.length <= LONGEST_SPELT_OUT) return text.replace(new RegExp(spellings(secret), "gi"), MASK);
  const forms = [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)];
  return forms.reduce((rest, form) => rest.replaceAll(form, MASK), text);
}

/** A short value is known by the name before it. */
function withoutParameter(text: string, [name, value]: readonly [string, string]): string {
  const pattern = new RegExp(`(?<=[?&;\\s"']|%3f|%26|^)(${spellings(name)}(?:=|%3d|\\\\u003d))${spellings(value)}(?![\\w%])`, "gi");
  return text.replace(pattern, `$1${MASK}`);
}

/** Each character as it is, behind backslashes (a limit keeps hostile text from being slow), percent-encoded once or twice, as JSON's `\u…`, or as a page's entity. */
function spellings(secret: string): string {
  return [...secret].map(spellingsOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;|&#34;", "'": "&#39;|&apos;" };

function spellingsOf(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/, String.raw`\$&`);
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)?${hex(byte, 2)}`).join("");
  const escaped = [...Array(character.length).keys()].map((at) => String.raw`\\{1,8}u${hex(character.charCodeAt(at), 4)}`).join("");
  const others = [ENTITIES[character], character === " " ? String.raw`\+` : undefined].filter((form) => form !== undefined);
  const plain = /[A-Za-z0-9]/.test(character) ? literal : String.raw`\\{0,8}${literal}`;
  return `(?:${[escaped, percent, ...others, plain].join("|")})`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
