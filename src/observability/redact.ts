import type { LogFields, LogLine } from "./log.js";

/** Shorter secrets would mask ordinary words in every line. */
const MIN_SECRET_LENGTH = 6;
/** The oldest are dropped beyond this; tokens may be replaced while the server runs. */
const MAX_SECRETS = 512;
/** A secret whose core is shorter is only searched for literally: so few characters, in any spelling, occur in ordinary words. */
const MIN_CORE_LENGTH = 5;
/** How much of one text is examined, and how much is kept. */
const MAX_SEEN = 64 * 1024;
const MAX_KEPT = 16 * 1024;

/** Masks secrets in texts: known ones, in every spelling they may appear in, and those that look like one. */
export class Redactor {
  readonly #secrets = new Set<string>();
  /** Read when the first text comes. */
  #env: NodeJS.ProcessEnv | undefined;
  /** Built when the next text comes. */
  #known: KnownSecrets | undefined;

  /** A redactor that knows the values of variables with secret names. PWD, where a shell keeps its working directory, is none. */
  static forEnvironment(env: NodeJS.ProcessEnv): Redactor {
    const redactor = new Redactor();
    redactor.#env = { ...env, PWD: undefined };
    return redactor;
  }

  /** Masks this text from now on. */
  learn(secret: string): void {
    const text = secret.trim();
    if (withoutBreaks(text).length < MIN_SECRET_LENGTH || this.#secrets.has(text)) return;
    const [oldest] = this.#secrets;
    if (this.#secrets.size >= MAX_SECRETS && oldest !== undefined) this.#secrets.delete(oldest);
    this.#secrets.add(text);
    this.#known = undefined;
  }

  mask(text: string): string {
    const seen = text.length > MAX_SEEN ? text.slice(0, MAX_SEEN) : text;
    const masked = maskLikelySecrets(this.#maskKnown(seen));
    return masked.length > MAX_KEPT || seen !== text ? shortened(masked, seen !== text) : masked;
  }

  maskLine(line: LogLine): LogLine {
    return { ...line, message: this.mask(line.message), fields: this.#maskFields(line.fields) };
  }

  #maskFields(fields: LogFields): LogFields {
    const masked: Record<string, LogFields[string]> = {};
    for (const [name, value] of Object.entries(fields)) masked[name] = this.#maskValue(name, value);
    return masked;
  }

  #maskValue(name: string, value: LogFields[string]): LogFields[string] {
    if (value === undefined || value === null) return value;
    if (isSecretName(name)) return MASK;
    return typeof value === "string" ? this.mask(value) : value;
  }

  #maskKnown(text: string): string {
    this.#learnEnvironment();
    if (this.#secrets.size === 0) return text;
    this.#known ??= knownSecrets(this.#secrets);
    const { cores, literals } = this.#known;
    const masked = literals.reduce((rest, form) => rest.replaceAll(form, MASK), text);
    return cores.length === 0 ? masked : maskCores(masked, cores);
  }

  #learnEnvironment(): void {
    const env = this.#env ?? {};
    this.#env = undefined;
    for (const [name, value] of Object.entries(env)) if (value !== undefined && isSecretName(name)) this.learn(value);
  }
}

interface KnownSecrets {
  /** Searched for in the core of a text. */
  readonly cores: readonly SecretCore[];
  /** Searched for in the text itself. */
  readonly literals: readonly string[];
}

interface SecretCore {
  readonly bytes: string;
  readonly encoding: PercentSigns;
  /** The secret begins or ends with characters outside its core, or with ones that may be escaped. */
  readonly openStart: boolean;
  readonly openEnd: boolean;
}

function knownSecrets(secrets: ReadonlySet<string>): KnownSecrets {
  const cores: SecretCore[] = [];
  const literals: string[] = [];
  for (const secret of secrets) {
    // For non-ASCII characters, upper case has other bytes.
    const forms = NOT_PLAIN.test(secret) ? [...new Set([secret, secret.toLowerCase(), secret.toUpperCase()])] : [secret];
    if (coreOf(secret, "decoded").bytes.length < MIN_CORE_LENGTH)
      literals.push(...[secret, secret.toLowerCase(), secret.toUpperCase()].flatMap(usualForms));
    else cores.push(...forms.flatMap((form) => [coreToFind(form, "kept"), coreToFind(form, "decoded")]));
  }
  return { cores, literals: literals.sort((a, b) => b.length - a.length) };
}

function coreToFind(secret: string, encoding: PercentSigns): SecretCore {
  const { bytes, starts, ends } = coreOf(secret, encoding);
  return { bytes, encoding, openStart: starts[0] !== 0 || !/^[a-z0-9]/i.test(secret), openEnd: ends[ends.length - 1] !== secret.length };
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\r\n]/g, "");
}

/** As it is, in JSON, in JSON within JSON, in a URL. */
function usualForms(secret: string): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [...new Set([secret, inJson(secret), inJson(inJson(secret)), inAddress(secret)])];
}

/** A lone surrogate cannot be percent-encoded. */
function inAddress(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The common part of all spellings of a text as UTF-8 (one character of this string is one byte), and the origin of each byte in the text.
 */
interface TextCore {
  readonly bytes: string;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** Most log text is ASCII without percent signs. */
const NOT_PLAIN = /[%\u0080-\uffff]/;

/** The bytes of the core without their positions: most texts contain no secret. */
function plainCore(text: string): string {
  return text.toLowerCase().replaceAll(/[\\\r\nrn]+/g, "");
}

function holdsAny(core: string, secrets: readonly SecretCore[]): boolean {
  return secrets.some(({ bytes, encoding }) => encoding === "kept" && core.includes(bytes));
}

/** Both variants are searched: a percent sign before a secret is not always the beginning of an encoded byte. */
type PercentSigns = "kept" | "decoded";

/**
 * The core of a text: ASCII in lower case, with repeated percent-encoding decoded, and without backslashes, line breaks and the letters r
 * and n. Spellings differ in those: each character may follow backslashes, and line breaks, including escaped ones, may be between any two.
 * Without the letters of an escaped break, the search need not decide whether a backslash before one belongs to the secret, which took a
 * regular expression exponential time.
 */
function coreOf(text: string, encoding: PercentSigns): TextCore {
  // A UTF-16 unit takes at most three bytes.
  const bytes = Buffer.allocUnsafe(text.length * 3);
  const starts = new Uint32Array(bytes.length);
  const ends = new Uint32Array(bytes.length);
  let size = 0;
  const add = (byte: number, start: number, end: number): void => {
    const common = COMMON[byte] ?? byte;
    if (common === NOTHING) return;
    bytes[size] = common;
    starts[size] = start;
    ends[size] = end;
    size++;
  };
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const end = at + (code > 0xffff ? 2 : 1);
    if (code < 0x80) add(code, at, end);
    else for (const byte of Buffer.from(String.fromCodePoint(code))) add(byte, at, end);
    // The decoded byte may be the last digit of another encoded byte.
    while (encoding === "decoded" && size > 2 && bytes[size - 3] === PERCENT) {
      const digits = bytes.toString("latin1", size - 2, size);
      if (!TWO_DIGITS.test(digits)) break;
      size -= 3;
      add(Number.parseInt(digits, 16), starts[size] ?? at, end);
    }
    at = end;
  }
  return { bytes: bytes.toString("latin1", 0, size), starts: starts.subarray(0, size), ends: ends.subarray(0, size) };
}

const PERCENT = 0x25;
const TWO_DIGITS = /^[0-9a-f]{2}$/;
const NOTHING = -1;
/** For each byte the common part of its spellings: lower case, or nothing. */
const COMMON: readonly number[] = Array.from({ length: 0x100 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[\\\r\nrn]/i.test(character)) return NOTHING;
  return byte < 0x80 ? character.toLowerCase().charCodeAt(0) : byte;
});

type Range = readonly [from: number, to: number];

function maskCores(text: string, secrets: readonly SecretCore[]): string {
  if (!NOT_PLAIN.test(text) && !holdsAny(plainCore(text), secrets)) return text;
  const ways: readonly PercentSigns[] = text.includes("%") ? ["kept", "decoded"] : ["kept"];
  const ranges = ways
    .flatMap((encoding) => {
      const core = coreOf(text, encoding);
      return secrets.filter((secret) => secret.encoding === encoding).flatMap((secret) => occurrences(text, core, secret));
    })
    .sort(([a, b], [c, d]) => a - c || d - b);
  let masked = "";
  let done = 0;
  for (const [from, to] of ranges) {
    if (from >= done) masked += `${text.slice(done, from)}${MASK}`;
    done = Math.max(done, to);
  }
  return ranges.length === 0 ? text : masked + text.slice(done);
}

function occurrences(text: string, { bytes, starts, ends }: TextCore, secret: SecretCore): Range[] {
  const found: Range[] = [];
  for (let at = bytes.indexOf(secret.bytes); at >= 0; at = bytes.indexOf(secret.bytes, at + secret.bytes.length)) {
    // Only characters that spellings add lie between two bytes of the core.
    const next = at + secret.bytes.length;
    const from = secret.openStart ? (ends[at - 1] ?? 0) : (starts[at] ?? 0);
    const to = secret.openEnd ? (starts[next] ?? text.length) : (ends[next - 1] ?? text.length);
    found.push([from, to]);
  }
  return found;
}

/** The text beyond the limit may continue a secret that the cut made unrecognisable; such a beginning is removed too. */
function shortened(masked: string, wasCut: boolean): string {
  return `${masked.slice(0, wasCut ? -4096 : undefined).slice(0, MAX_KEPT)}… (shortened)`;
}

/** Replaces a secret. */
export const MASK = "****";

/** Every pattern below contains one of these; without any, a text is not examined further. */
const SUSPICIOUS =
  /bearer|basic|auth|cookie|token|secret|passw|pwd|credential|key|(?:sig|code)(?:=|%3d)|signature|jwt|assertion|:\\?\/|[spr]k[-%_]|sess[-_%]|eyj|gh[pousr]_|github_|glpat|xox|akia|asia|aiza/i;

const NAME_START = `(?<![A-Za-z0-9_])`;
const TOKEN_START = `(?<![A-Za-z0-9])`;
/** Between a name and its value: `": "`, `=`, `\": \"`, `%3D`, or the comma in a list of names and values. */
const JOINT = String.raw`(?:(?:\\*["'])?\s*(?:[:=]|%3[AD]|=>)|\\*["']\s*,(?=\s*\\*["']))(?:\s|\\+[nrt]|%20|\+)*`;
/** In quotes, up to the same quotes; they may be escaped, as in JSON within JSON. */
const QUOTED = String.raw`(?<quote>\\*["'])(?:(?!(?<!\\)\k<quote>)[\s\S])*`;
const NOT_QUOTED = String.raw`(?!\\*["']|\*{4})`;
/** Header fields whose whole value is secret, spaces and semicolons included. */
const HEADERS = `(?:proxy-)?authorization|(?:set-)?cookie2?|(?:x-|x-goog-)?api-key|x-auth-token|x-amz-security-token`;
/** Other names whose value is secret: of JSON fields, variables, form fields. */
const NAMES = [
  String.raw`\w*(?:access|refresh|id|auth|session|bearer|csrf|security|api|client)[-_]?token`,
  String.raw`\w*(?:api|private|secret|access|encryption|signing)[-_]?key`,
  String.raw`\w+_(?:token|secret|password|passwd|credentials?|key)`,
  `(?:client[-_]?)?secret|password|passwd|pwd|credentials?`,
].join("|");
/** Names that are secret only in a query; elsewhere they are ordinary words. */
const QUERY_NAMES = "token|key|sig|signature|code|auth|jwt|assertion|x-amz-signature|x-amz-credential";

/** Each takes whole runs of its characters: a search that starts again inside a run takes seconds for 64 KiB. */
const RULES = [
  rule(`(${NAME_START}(?:${HEADERS})${JOINT})${QUOTED}`, `$1$<quote>${MASK}`),
  rule(`(${NAME_START}(?:${HEADERS})${JOINT})${NOT_QUOTED}[^\\r\\n]+`, `$1${MASK}`),
  rule(`(${NAME_START}(?:${NAMES})${JOINT})${QUOTED}`, `$1$<quote>${MASK}`),
  rule(String.raw`(${NAME_START}(?:${NAMES})${JOINT})${NOT_QUOTED}(?:(?!%26)[^\s"'\\,;&}\])])+`, `$1${MASK}`),
  rule(String.raw`((?:[?&;]|%3F|%26)(?:${QUERY_NAMES})(?:=|%3D))(?:(?!%26)[^\s"'\\&#;])+`, `$1${MASK}`),
  rule(String.raw`(bearer(?:[\s:="',]|\\+[nrt"]|%20|%3A|%0A|%0D|\+)+)[^\s"'\\,;&<>]+`, `$1${MASK}`),
  ruleIfClosed(String.raw`(basic(?:\s|%20|\+)+)[A-Za-z0-9+/]{4,}?(?=basic(?:\s|%20)|[^A-Za-z0-9+/]|$)((?:=|%3D){1,2})?`),
  rule(String.raw`(:(?:\\?\/){2})[^\s/?#"'\\<>]+@`, `$1${MASK}@`),
  rule(`${TOKEN_START}(?:sk|sess|pk|rk)(?:-|_|%2D)[A-Za-z0-9_%-]{8,}`, MASK),
  rule(`${TOKEN_START}(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|akia|asia|aiza)[A-Za-z0-9_-]{12,}`, MASK),
  ruleIfClosed(String.raw`(${TOKEN_START})eyj[A-Za-z0-9_-]{8,}((?:\.|%2E)[A-Za-z0-9_-]{4,}(?:(?:\.|%2E)[A-Za-z0-9_-]*)*)?`),
];

/** Masks text that looks like a secret by its form or by its context. */
export function maskLikelySecrets(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return RULES.reduce((masked, applied) => applied(masked), text);
}

const SECRET_NAME = new RegExp(`^(?:${HEADERS}|${NAMES}|token|key|jwt)$`, "i");

/** Whether a value under this name is secret, whatever it looks like. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

function rule(source: string, replacement: string) {
  const pattern = new RegExp(source, "gi");
  return (text: string) => text.replace(pattern, replacement);
}

/** Masks what follows the first group, if the second group is there too: only that shows a secret. */
function ruleIfClosed(source: string) {
  const pattern = new RegExp(source, "gi");
  const masked = (found: string, lead: string, closing?: string) => (closing === undefined ? found : `${lead}${MASK}`);
  return (text: string) => text.replace(pattern, masked);
}
