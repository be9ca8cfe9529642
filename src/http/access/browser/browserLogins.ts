import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import type { Identity } from "../identity.js";

/** A code that was printed is good for so long; `open` makes new ones. */
const CODE_MS = 60 * 60_000;
/** Without a request for so long, a browser has to log in again. */
const IDLE_MS = 12 * 60 * 60_000;
/** The oldest go first. */
const MOST_CODES = 64;
const MOST_LOGINS = 1_024;

export interface BrowserLoginsOptions {
  /** Who has the codes that the server gives out. */
  readonly ownUser: Identity;
  /** Cookies do not know ports: each server of a machine needs a name of its own. */
  readonly port: () => number;
  readonly now?: () => number;
}

/** What a browser that has logged in stands for. */
export type BrowserIdentity = { readonly identity: Identity } | { readonly authorization: string };

interface Entry {
  readonly stands: BrowserIdentity;
  lastUsedAt: number;
}

/** Browsers that have logged in, by a one-time code or by a token. Only hashes are kept of what they show. */
export class BrowserLogins {
  readonly #options: BrowserLoginsOptions;
  readonly #now: () => number;
  readonly #codes = new Map<string, number>();
  readonly #logins = new Map<string, Entry>();

  constructor(options: BrowserLoginsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  newCode(): { readonly code: string; readonly expiresAt: number } {
    const code = randomBytes(24).toString("base64url");
    const expiresAt = this.#now() + CODE_MS;
    this.#codes.set(hashOf(code), expiresAt);
    dropOldest(this.#codes, MOST_CODES);
    return { code, expiresAt };
  }

  /** The cookie for a code, which is used up by that; undefined for one that is wrong, used or too old. */
  byCode(code: string, request: IncomingMessage): string | undefined {
    const hash = hashOf(code);
    const expiresAt = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (expiresAt === undefined || expiresAt < this.#now()) return undefined;
    return this.#loggedIn({ identity: this.#options.ownUser }, request);
  }

  /** The cookie for the token that the request has shown, and which access control has taken. */
  byToken(request: IncomingMessage): string | undefined {
    const { authorization } = request.headers;
    return authorization === undefined ? undefined : this.#loggedIn({ authorization }, request);
  }

  /** The header that takes the cookie from the browser; what it stood for is over. */
  end(request: IncomingMessage): string {
    const shown = this.#shown(request);
    if (shown !== undefined) this.#logins.delete(hashOf(shown));
    return this.#cookie("", request, 0);
  }

  /** Who the browser stands for; undefined when it shows no cookie that is good here. */
  recall(request: IncomingMessage): BrowserIdentity | undefined {
    const shown = this.#shown(request);
    const entry = shown === undefined ? undefined : this.#logins.get(hashOf(shown));
    if (!entry) return undefined;
    const now = this.#now();
    // A clock that was set back does not make a login older than it is.
    if (now - entry.lastUsedAt > IDLE_MS) return undefined;
    entry.lastUsedAt = now;
    return entry.stands;
  }

  #loggedIn(stands: BrowserIdentity, request: IncomingMessage): string {
    const secret = randomBytes(32).toString("base64url");
    this.#logins.set(hashOf(secret), { stands, lastUsedAt: this.#now() });
    dropOldest(this.#logins, MOST_LOGINS);
    return this.#cookie(secret, request, IDLE_MS / 1_000);
  }

  #cookie(value: string, { socket }: IncomingMessage, maxAge: number): string {
    const secure = socket instanceof TLSSocket ? "; Secure" : "";
    // Without a path: it is for what is beside the login, also where a proxy has put something before that.
    return `${this.#name}=${value}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
  }

  get #name(): string {
    return `codex-mcpd-${this.#options.port()}`;
  }

  #shown({ headers: { cookie = "" } }: IncomingMessage): string | undefined {
    const prefix = `${this.#name}=`;
    const found = cookie.split(";").map((part) => part.trim());
    return found.find((part) => part.startsWith(prefix))?.slice(prefix.length);
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > most) map.delete(oldest);
}
