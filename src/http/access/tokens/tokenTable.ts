import { hash, timingSafeEqual } from "node:crypto";
import { realpathSync } from "node:fs";
import { AccessMisconfigured } from "../errors.js";
import type { Identity } from "../identity.js";
import { TOKEN_FORM } from "../requestHeaders.js";

/** A token as configured by the operator. */
export interface WrittenToken {
  readonly token: string;
  /** The principal; without a name, the token is its own principal. */
  readonly name?: string;
  readonly scopes: readonly string[];
  /** The folders in which its bearer may work, where the token names any. */
  readonly roots?: readonly string[];
}

/** Shorter tokens could be guessed despite the rate limit. */
const MIN_TOKEN_LENGTH = 16;
/** Enough hexadecimal digits to avoid collisions, too few to recover a token. */
const FINGERPRINT_LENGTH = 16;

/** The tokens in force, stored as digests: the process's memory shows none of them. */
export class TokenTable {
  readonly #entries: readonly { readonly digest: Buffer; readonly identity: Identity }[];

  constructor(tokens: readonly WrittenToken[]) {
    this.#entries = tokens.map((written) => ({ digest: digestOf(written.token), identity: identityOf(written) }));
  }

  /** All folders that single tokens allow. */
  get roots(): readonly string[] {
    return this.#entries.flatMap(({ identity }) => identity.roots ?? []);
  }

  /** Compares with every token in full, in constant time. Of equal tokens, the first counts. */
  find(token: string): Identity | undefined {
    const digest = digestOf(token);
    let found: Identity | undefined;
    for (const entry of this.#entries) {
      const equal = timingSafeEqual(entry.digest, digest);
      if (equal) found ??= entry.identity;
    }
    return found;
  }
}

/** Throws if the token is unsuitable. `where` names it in the message, which must not show it. */
export function checkToken(token: string, where: string): void {
  if (token.length < MIN_TOKEN_LENGTH)
    throw new AccessMisconfigured(
      `${where}: the token has ${token.length} characters and needs at least ${MIN_TOKEN_LENGTH}; \`openssl rand -hex 32\` makes a good one`,
    );
  if (!TOKEN_FORM.test(token))
    throw new AccessMisconfigured(`${where}: the token has characters other than letters, digits and -._~+/ (with = at its end)`);
}

function identityOf({ token, name, scopes, roots }: WrittenToken): Identity {
  return { principal: name ?? fingerprint(token), scopes, ...(roots && { roots: roots.flatMap(placeOf) }) };
}

/**
 * A root is resolved when the token is read, so that a link that changes later does not move it. A root that does not exist is left out.
 */
function placeOf(root: string): string[] {
  try {
    return [realpathSync.native(root)];
  } catch {
    return [];
  }
}

/** Stable across restarts. Not a part of the digest that tokens are compared by. */
function fingerprint(token: string): string {
  return `token-${hash("sha256", `principal of ${token}`).slice(0, FINGERPRINT_LENGTH)}`;
}

function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
