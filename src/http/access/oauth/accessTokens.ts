import { hash } from "node:crypto";
import { describe } from "../../../lib/errors.js";
import type { Fields } from "../../../lib/fields.js";
import type { Identity, ScopeWords } from "../identity.js";
import { loadKeyDocument } from "./issuer.js";
import { IssuerKeys } from "./issuerKeys.js";
import type * as Jwt from "./jwt.js";
import { keyFileOf, type OAuthSettings } from "./oauthSettings.js";

/** The result of checking a token. */
export type Verdict =
  | { readonly kind: "valid"; readonly identity: Identity }
  /** No issuer issued this token: it is guessed or mistyped. */
  | { readonly kind: "unknown" }
  /** The token is genuine, but not valid here and now. */
  | { readonly kind: "unfit"; readonly reason: string }
  | { readonly kind: "insufficient-scope"; readonly needed: readonly string[] }
  | { readonly kind: "unchecked"; readonly reason: string };

export interface AccessTokenOptions {
  readonly report: (line: string) => void;
  readonly scopes: ScopeWords;
  /** A monotonic clock. */
  readonly now?: () => number;
}

/**
 * Loads the signature library, which a server without an issuer never needs. Rejects if a key file cannot be used. An unreachable issuer is
 * reported and retried with the first token.
 */
export async function openAccessTokens(settings: OAuthSettings, options: AccessTokenOptions): Promise<AccessTokens> {
  const now = options.now ?? (() => performance.now());
  const jwt = await import("./jwt.js");
  const load = async (signal: AbortSignal) => jwt.readKeySet(await loadKeyDocument(settings, signal));
  const keys = new IssuerKeys({ load, report: options.report, now });
  if (keyFileOf(settings) === undefined) keys.begin();
  else await keys.current();
  return new AccessTokens(settings, { jwt, keys, now, scopes: options.scopes });
}

interface Parts {
  readonly jwt: typeof Jwt;
  readonly keys: IssuerKeys<Jwt.KeySet>;
  readonly now: () => number;
  readonly scopes: ScopeWords;
}

/** Checking a signature costs more than the rest of a small request. */
const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 1_000;
const SUBJECT_FORM = /^[\x20-\x7e]{1,255}$/;

/** The access tokens (JWTs) of an OAuth issuer, and their identities. */
export class AccessTokens {
  readonly #settings: OAuthSettings;
  readonly #parts: Parts;
  readonly #remembered = new Map<string, { readonly identity: Identity; readonly until: number }>();

  constructor(settings: OAuthSettings, parts: Parts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** The identity of a token that was verified recently. */
  recall(token: string): Identity | undefined {
    const known = this.#remembered.get(keyOf(token));
    return known && known.until > this.#parts.now() ? known.identity : undefined;
  }

  /** Never rejects. */
  async check(token: string): Promise<Verdict> {
    try {
      const finding = await this.#verify(token);
      switch (finding.kind) {
        case "signed":
          return this.#judge(token, finding.claims);
        case "unknown-key":
          return { kind: "unfit", reason: "The token is signed with a key that its issuer does not publish." };
        case "unknown":
        case "unfit":
          return finding;
      }
    } catch (error) {
      return { kind: "unchecked", reason: describe(error) };
    }
  }

  async close(): Promise<void> {
    this.#remembered.clear();
    await this.#parts.keys.close();
  }

  /** Issuers rotate their keys: an unknown key may be a new one. */
  async #verify(token: string): Promise<Jwt.Finding> {
    const { jwt, keys } = this.#parts;
    const finding = await jwt.verifyJwt(token, await keys.current(), this.#settings);
    if (finding.kind !== "unknown-key") return finding;
    const newer = await keys.newer();
    return newer ? jwt.verifyJwt(token, newer, this.#settings) : finding;
  }

  #judge(token: string, claims: Fields): Verdict {
    const { issuer, requiredScopes } = this.#settings;
    const { sub, exp } = claims;
    if (typeof sub !== "string" || !SUBJECT_FORM.test(sub)) return { kind: "unfit", reason: "The token does not name its subject." };
    const scopes = scopesOf(claims);
    if (!requiredScopes.every((scope) => scopes.has(scope))) return { kind: "insufficient-scope", needed: requiredScopes };
    const identity: Identity = { principal: `${issuer}#${sub}`, scopes: ownScopes(scopes, this.#settings, this.#parts.scopes) };
    this.#remember(token, { identity, expiresAt: Number(exp) * 1_000 });
    return { kind: "valid", identity };
  }

  #remember(token: string, { identity, expiresAt }: { readonly identity: Identity; readonly expiresAt: number }): void {
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined && this.#remembered.size >= MAX_REMEMBERED) this.#remembered.delete(oldest);
    const until = this.#parts.now() + Math.min(REMEMBER_MS, expiresAt - Date.now());
    this.#remembered.set(keyOf(token), { identity, until });
  }
}

/** The issuer's scopes count only as configured: `read` may mean anything there. */
function ownScopes(scopes: ReadonlySet<string>, { manageScope, operatorScope }: OAuthSettings, words: ScopeWords): readonly string[] {
  if (operatorScope !== undefined && scopes.has(operatorScope)) return words.all;
  return manageScope !== undefined && scopes.has(manageScope) ? [...words.usual, words.manage] : words.usual;
}

/** RFC 8693 defines a string with spaces; some issuers send a list under another name. */
function scopesOf({ scope, scp }: Fields): ReadonlySet<string> {
  return new Set(
    [scope, scp].flatMap((said) => (typeof said === "string" ? said.split(" ") : Array.isArray(said) ? said.map(String) : [])),
  );
}

function keyOf(token: string): string {
  return hash("sha256", token, "base64");
}
