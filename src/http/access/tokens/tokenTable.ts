import { hash, timingSafeEqual } from "node:crypto";
import { realpathSync } from "node:fs";
import { AccessMisconfigured } from "../errors.js";
import type { Identity } from "../identity.js";
import { TOKEN_FORM } from "../requestHeaders.js";

/** A token as an operator has written it down. */
export interface WrittenToken {
  readonly token: string;
  /** Whom it stands for; without a name it stands for itself. */
  readonly name?: string;
  readonly scopes: readonly string[];
  /** The folders its bearer may work in, where they are its own. */
  readonly roots?: readonly string[];
}

/** Shorter ones could be guessed, however slowly guesses are taken. */
const MIN_TOKEN_LENGTH = 16;
/** Enough hexadecimal digits that two tokens never share them, too few to find a token by. */
const FINGERPRINT_LENGTH = 16;

/** The tokens in force, as digests: a look at this process's memory shows none of them. */
export class TokenTable {
  readonly #entries: readonly { readonly digest: Buffer; readonly identity: Identity }[];

  constructor(tokens: readonly WrittenToken[]) {
    this.#entries = tokens.map((written) => ({ digest: digestOf(written.token), identity: identityOf(written) }));
  }

  /** The folders that single bearers were given, all of them. */
  get roots(): readonly string[] {
    return this.#entries.flatMap(({ identity }) => identity.roots ?? []);
  }

  /** Compares with every token in full, so that the time it takes tells nothing about any of them. Of equal tokens the first counts. */
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

/** Throws unless the token is fit to be one. `where` stands for it in the sentence, which must not show it. */
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

/** A root is a place, found when the token is read, not a name that somebody may let lead elsewhere later. One that is not there is none. */
function placeOf(root: string): string[] {
  try {
    return [realpathSync.native(root)];
  } catch {
    return [];
  }
}

/** The same for the same token after any restart. Not a part of the digest that tokens are compared by. */
function fingerprint(token: string): string {
  return `token-${hash("sha256", `principal of ${token}`).slice(0, FINGERPRINT_LENGTH)}`;
}

function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
