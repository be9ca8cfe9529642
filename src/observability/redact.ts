import type { LogFields, LogLine } from "./log.js";
import { Secret, startPattern } from "./secret.js";
import { isSecretName, MASK, maskBySight } from "./secretPatterns.js";

/** Shorter ones would take ordinary words out of every line. */
const MIN_SECRET_LENGTH = 6;
/** The oldest are forgotten beyond this; tokens may be replaced while the server runs. */
const MAX_SECRETS = 512;
/** What of one text is looked at, and what of it is kept. */
const MAX_SEEN = 64 * 1024;
const MAX_KEPT = 16 * 1024;

/** Takes secrets out of texts: those it was told, in every spelling they may appear in, and those that look like one. */
export class Redactor {
  readonly #secrets = new Map<string, Secret>();
  /** Read when the first text comes. */
  #env: NodeJS.ProcessEnv | undefined;
  /** How those that are known begin. Made when the next text comes. */
  #starts: RegExp | undefined;

  /** One that knows the values of variables whose names say that they are secret. */
  static forEnvironment(env: NodeJS.ProcessEnv): Redactor {
    const redactor = new Redactor();
    redactor.#env = env;
    return redactor;
  }

  /** From now on this text appears nowhere. */
  learn(secret: string): void {
    const text = secret.trim();
    if (text.length < MIN_SECRET_LENGTH || this.#secrets.has(text)) return;
    const [oldest] = this.#secrets.keys();
    if (this.#secrets.size >= MAX_SECRETS && oldest !== undefined) this.#secrets.delete(oldest);
    this.#secrets.set(text, new Secret(text));
    this.#starts = undefined;
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
    this.#starts ??= startPattern(this.#secrets.values());
    const starts = this.#starts;
    starts.lastIndex = 0;
    let masked = "";
    let from = 0;
    for (let found = starts.exec(text); found; found = starts.exec(text)) {
      const end = this.#endOfSecret(text, found.index);
      starts.lastIndex = end ?? found.index + 1;
      if (end === undefined) continue;
      masked += text.slice(from, found.index) + MASK;
      from = end;
    }
    return masked + text.slice(from);
  }

  /** One secret may be the beginning of another. */
  #endOfSecret(text: string, start: number): number | undefined {
    const ends = [...this.#secrets.values()].map((secret) => secret.endIn(text, start) ?? -1);
    const end = Math.max(...ends);
    return end === -1 ? undefined : end;
  }

  #learnEnvironment(): void {
    const env = this.#env ?? {};
    this.#env = undefined;
    for (const [name, value] of Object.entries(env)) if (value !== undefined && isSecretName(name)) this.learn(value);
  }
}

/** What was not looked at may continue a secret that the cut has made unrecognisable; such a beginning is taken away too. */
function shortened(masked: string, wasCut: boolean): string {
  const safe = wasCut ? masked.slice(0, -4096) : masked;
  return `${safe.slice(0, MAX_KEPT)}… (shortened)`;
}
