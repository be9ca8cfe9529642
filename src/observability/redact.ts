import type { LogFields, LogLine } from "./log.js";
import { isSecretName, MASK, maskBySight } from "./secretPatterns.js";

/** Shorter ones would take ordinary words out of every line. */
const MIN_SECRET_LENGTH = 6;
/** The oldest are forgotten beyond this; tokens may be replaced while the server runs. */
const MAX_SECRETS = 512;
/** How much of the secrets is looked for in every spelling. More is too much for V8 to compile in time; the rest is looked for in the usual ones. */
const MAX_SPELT_OUT = 4_096;
/** Of one secret, pieces of this length are looked for. */
const MAX_PIECE = 512;
/** What of one text is looked at, and what of it is kept. */
const MAX_SEEN = 64 * 1024;
const MAX_KEPT = 16 * 1024;

/** Takes secrets out of texts: those it was told, in every spelling they may appear in, and those that look like one. */
export class Redactor {
  readonly #secrets = new Set<string>();
  /** Read when the first text comes. */
  #env: NodeJS.ProcessEnv | undefined;
  /** Made when the next text comes. */
  #known: { readonly spelt: RegExp | undefined; readonly literal: readonly string[] } | undefined;

  /** One that knows the values of variables whose names say that they are secret. */
  static forEnvironment(env: NodeJS.ProcessEnv): Redactor {
    const redactor = new Redactor();
    redactor.#env = env;
    return redactor;
  }

  /** From now on this text appears nowhere. */
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
    const masked = maskBySight(this.#maskKnown(seen));
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
    this.#known ??= known(this.#secrets);
    const { spelt, literal } = this.#known;
    const masked = literal.reduce((rest, form) => rest.replaceAll(form, MASK), text);
    return spelt ? masked.replace(spelt, MASK) : masked;
  }

  #learnEnvironment(): void {
    const env = this.#env ?? {};
    this.#env = undefined;
    for (const [name, value] of Object.entries(env)) if (value !== undefined && isSecretName(name)) this.learn(value);
  }
}

/** The shortest are spelt out first, so that most are. */
function known(secrets: ReadonlySet<string>): { readonly spelt: RegExp | undefined; readonly literal: readonly string[] } {
  const spelt: string[] = [];
  const literal: string[] = [];
  let room = MAX_SPELT_OUT;
  for (const secret of [...secrets].sort((a, b) => a.length - b.length)) {
    room -= secret.length;
    if (room >= 0) spelt.push(...pieces(withoutBreaks(secret)));
    else literal.push(...usualForms(secret));
  }
  return { spelt: spelt.length === 0 ? undefined : patternOf(spelt), literal: literal.sort((a, b) => b.length - a.length) };
}

/** Longest first: one secret may be the beginning of another. */
function patternOf(secrets: readonly string[]): RegExp {
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(spellings).join("|"), "giu");
}

/** Of about the same length, so that none is an ordinary word. */
function pieces(secret: string): string[] {
  const characters = [...secret];
  const count = Math.ceil(characters.length / MAX_PIECE);
  const length = Math.ceil(characters.length / count);
  return Array.from({ length: count }, (_, at) => characters.slice(at * length, (at + 1) * length).join(""));
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\r\n]/g, "");
}

/** As it is, in JSON, in JSON within JSON, in an address. */
function usualForms(secret: string): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  const forms = pieces(secret).flatMap((piece) => [piece, inJson(piece), inJson(inJson(piece)), inAddress(piece)]);
  return [...new Set(forms)];
}

/** Half of a character has no address. */
function inAddress(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Line breaks, its own and others, also escaped ones, may be between any two characters; each may be percent-encoded or stand behind a backslash. */
function spellings(secret: string): string {
  return [...secret].map(spellingsOf).join(String.raw`(?:[\r\n]|\\+[rn]|%0[ad])*`);
}

function spellingsOf(character: string): string {
  const encoded = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const literal = character.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`);
  return /[A-Za-z0-9]/.test(character) ? `(?:${literal}|${encoded})` : String.raw`(?:\\*${literal}|${encoded})`;
}

/** What was not looked at may continue a secret that the cut has made unrecognisable; such a beginning is taken away too. */
function shortened(masked: string, wasCut: boolean): string {
  const safe = wasCut ? masked.slice(0, -4096) : masked;
  return `${safe.slice(0, MAX_KEPT)}… (shortened)`;
}
