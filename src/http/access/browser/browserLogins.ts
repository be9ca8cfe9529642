import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Identity } from "../identity.js";

/** The lifetime of a printed code; `open` creates new ones. */
const CODE_MS = 60 * 60_000;
/** The idle timeout of a browser's login. */
const IDLE_MS = 12 * 60 * 60_000;
/** Longer than any login: a browser counts from the login, not from the last use. Browsers keep no cookie longer than 400 days. */
const COOKIE_SECONDS = 400 * 24 * 60 * 60;
/** Beyond these limits, the oldest are dropped: of codes, which only the server's own user gets, and of one principal's logins. */
const MOST_CODES = 64;
const MOST_LOGINS = { ofPrincipal: 32, inAll: 4_096 };

export interface BrowserLoginsOptions {
  /** The identity behind the codes that the server issues. */
  readonly ownUser: Identity;
  /** Cookies ignore ports, so each server on a machine needs its own cookie name. */
  readonly port: () => number;
  /** The user who opened a connection, compared with `===`. Browsers also send the cookie to other users' servers on this host name. */
  readonly userOf: (socket: Socket) => User | Promise<User>;
  readonly now?: () => number;
}

type User = number | string;

/** The identity of a browser that has logged in. */
export type BrowserIdentity = { readonly identity: Identity } | { readonly authorization: string };

interface Entry {
  readonly stands: BrowserIdentity;
  readonly principal: string;
  /** The user of the connection that logged in. */
  readonly user: User;
  lastUsedAt: number;
}

/** The browsers that have logged in with a one-time code or a token. Only hashes of codes and cookies are kept. */
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

  /** Exchanges a code for a cookie; undefined if the code is wrong, used or expired. */
  async byCode(code: string, request: IncomingMessage): Promise<string | undefined> {
    const hash = hashOf(code);
    const expiresAt = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (expiresAt === undefined || expiresAt < this.#now()) return undefined;
    const { ownUser: identity } = this.#options;
    return this.#loggedIn({ stands: { identity }, principal: identity.principal }, request);
  }

  /** A cookie for the request's token, which access control has already accepted for this principal. */
  async byToken(request: IncomingMessage, principal: string): Promise<string | undefined> {
    const { authorization } = request.headers;
    return authorization === undefined ? undefined : this.#loggedIn({ stands: { authorization }, principal }, request);
  }

  /** Ends the login, and returns the header that removes the cookie. */
  end(request: IncomingMessage): string {
    for (const shown of this.#shown(request)) this.#logins.delete(hashOf(shown));
    return this.#cookie("", request, 0);
  }

  /** The browser's identity; undefined without a valid cookie. Does not check which user opened the connection. */
  recall(request: IncomingMessage): BrowserIdentity | undefined {
    const entry = this.#entry(request);
    if (!entry) return undefined;
    const now = this.#now();
    // If the clock was set back, the difference is negative and the login stays valid.
    if (now - entry.lastUsedAt > IDLE_MS) return undefined;
    entry.lastUsedAt = now;
    return entry.stands;
  }

  /**
   * Whether the sender of the cookie is the user of this machine who logged in. Synchronous except for the first request of a connection.
   */
  isOfSameUser(request: IncomingMessage): boolean | Promise<boolean> {
    const entry = this.#entry(request);
    const user = this.#options.userOf(request.socket);
    return user instanceof Promise ? user.then((found) => found === entry?.user) : user === entry?.user;
  }

  #entry(request: IncomingMessage): Entry | undefined {
    const known = this.#shown(request).map((shown) => this.#logins.get(hashOf(shown)));
    return known.find((entry) => entry !== undefined);
  }

  async #loggedIn(who: Pick<Entry, "stands" | "principal">, request: IncomingMessage): Promise<string> {
    const user = await this.#options.userOf(request.socket);
    const secret = randomBytes(32).toString("base64url");
    this.#logins.set(hashOf(secret), { ...who, user, lastUsedAt: this.#now() });
    const own = [...this.#logins].flatMap(([hash, { principal }]) => (principal === who.principal ? [hash] : []));
    for (const hash of own.slice(0, -MOST_LOGINS.ofPrincipal)) this.#logins.delete(hash);
    dropOldest(this.#logins, MOST_LOGINS.inAll);
    return this.#cookie(secret, request, COOKIE_SECONDS);
  }

  #cookie(value: string, { socket }: IncomingMessage, maxAge: number): string {
    const secure = socket instanceof TLSSocket ? "; Secure" : "";
    // Without a path: the cookie applies to the folder of the login page, even if a proxy adds a path prefix.
    return `${this.#name}=${value}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
  }

  get #name(): string {
    return `codex-mcpd-${this.#options.port()}`;
  }

  /**
   * A request may have several cookies with this name: a server on another port of the same host name can set one that browsers send first.
   */
  #shown({ headers: { cookie = "" } }: IncomingMessage): string[] {
    const prefix = `${this.#name}=`;
    const parts = cookie.split(";").map((part) => part.trim());
    return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length));
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > most) map.delete(oldest);
}
