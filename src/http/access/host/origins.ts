import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import type { BrowserIdentity, BrowserLogins } from "../browser/browserLogins.js";
import { AccessMisconfigured } from "../errors.js";
import type { AnswerHeaders, HttpAnswer } from "../identity.js";
import { requestPath } from "../requestHeaders.js";
import { hostOfAuthority, isLoopbackName, reachOf } from "./hostName.js";

export interface OriginSettings {
  /** The bind address of the server. */
  readonly host: string;
  readonly corsOrigins: readonly string[];
}

/** Decides which web pages may send requests. Programs send no `Origin` and are not affected. */
export class OriginRule {
  readonly #listed: ReadonlySet<string>;
  readonly #onThisMachine: boolean;

  constructor({ host, corsOrigins }: OriginSettings) {
    this.#listed = new Set(corsOrigins.map(originOfSetting));
    this.#onThisMachine = reachOf(host) === "loopback";
  }

  /** Why the request is refused; undefined if its origin is allowed. */
  objection(request: IncomingMessage): string | undefined {
    const { origin } = request.headers;
    if (origin === undefined) return isUnseenCrossSite(request) ? "Requests from other web sites are refused." : undefined;
    if (this.isListed(origin) || this.#isLocalPage(origin)) return undefined;
    return "This server does not accept requests from this origin. --cors-origin adds one.";
  }

  /**
   * The same check for an upgrade without a token. WebSockets are not subject to CORS: a page on any other port of this machine, such as a
   * repository's own, could control the agent and read its output.
   */
  upgradeObjection(request: IncomingMessage): string | undefined {
    const { origin, upgrade } = request.headers;
    if (upgrade === undefined || origin === undefined || this.isListed(origin) || isOwnOrigin(origin, request)) return undefined;
    return "Without a token, only programs and this server's own pages may open a WebSocket. --cors-origin adds an origin.";
  }

  get anyListed(): boolean {
    return this.#listed.size > 0;
  }

  isListed(origin: string): boolean {
    return this.#listed.has(origin.toLowerCase());
  }

  /** A page from this machine, if only this machine can reach the server. */
  #isLocalPage(origin: string): boolean {
    if (!this.#onThisMachine) return false;
    const [, authority = ""] = /^https?:\/\/([^/]*)$/i.exec(origin) ?? [];
    const host = hostOfAuthority(authority);
    return host !== undefined && isLoopbackName(host);
  }
}

/** Compares scheme, host and port with this server's, whatever port the request names. */
function isOwnOrigin(origin: string, { headers, socket }: IncomingMessage): boolean {
  const [, scheme = "", authority = "", port] = /^(https?):\/\/([^/]*?)(?::(\d+))?$/i.exec(origin) ?? [];
  const secure = socket instanceof TLSSocket;
  const host = hostOfAuthority(authority);
  return (
    host !== undefined &&
    host === hostOfAuthority(headers.host ?? "") &&
    scheme.toLowerCase() === (secure ? "https" : "http") &&
    Number(port ?? (secure ? 443 : 80)) === socket.localPort
  );
}

/** Browsers send no `Origin` for images, frames and similar requests, but mark requests of other sites in another header. */
function isUnseenCrossSite({ headers }: IncomingMessage): boolean {
  return headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-dest"] !== "document";
}

/** An origin as browsers send it. The schemes of extensions and editors have no origin in the URL standard. */
export function originOfSetting(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "" && /^\/?$/.test(url.pathname);
  if (!bare || url.host === "")
    throw new AccessMisconfigured(`--cors-origin ${JSON.stringify(text)}: expected one origin, such as https://app.example.com`);
  return url.origin === "null" ? `${url.protocol}//${url.host}`.toLowerCase() : url.origin;
}

const METHODS = "GET, POST, DELETE, OPTIONS";
/** Headers that every HTTP protocol uses. */
const OWN_REQUEST_HEADERS = ["authorization", "content-type", "last-event-id", "traceparent", "tracestate"];
const OWN_EXPOSED_HEADERS = ["www-authenticate", "retry-after"];
/** Browsers cache a preflight response for at most about two hours. */
const PREFLIGHT_SECONDS = 7_200;

const NONE: AnswerHeaders = {};
const DEPENDS_ON_ORIGIN: AnswerHeaders = { vary: "Origin" };

/** The headers of the served protocols. */
export interface CorsHeaders {
  /** Headers that pages may send. */
  readonly accepted: readonly string[];
  /** Headers that pages may read. */
  readonly exposed: readonly string[];
}

/** The CORS headers. There are none unless the operator has listed origins. */
export class Cors {
  readonly #origins: OriginRule;
  readonly #unlisted: AnswerHeaders;
  readonly #accepted: string;
  readonly #exposed: string;

  constructor(origins: OriginRule, { accepted, exposed }: CorsHeaders) {
    this.#origins = origins;
    this.#unlisted = origins.anyListed ? DEPENDS_ON_ORIGIN : NONE;
    this.#accepted = [...OWN_REQUEST_HEADERS, ...accepted].sort().join(", ");
    this.#exposed = [...exposed, ...OWN_EXPOSED_HEADERS].join(", ");
  }

  /** For every response to the request. No cookies are used cross-origin, so credentials are not allowed. */
  headersFor({ headers: { origin } }: IncomingMessage): AnswerHeaders {
    if (origin === undefined || !this.#origins.isListed(origin)) return this.#unlisted;
    return { ...DEPENDS_ON_ORIGIN, "access-control-allow-origin": origin, "access-control-expose-headers": this.#exposed };
  }

  /** The response to any OPTIONS request; browsers send it without a token. */
  preflight(request: IncomingMessage): HttpAnswer {
    const shared = this.headersFor(request);
    const allowed: AnswerHeaders = shared["access-control-allow-origin"]
      ? {
          "access-control-allow-methods": METHODS,
          "access-control-allow-headers": this.#accepted,
          "access-control-max-age": String(PREFLIGHT_SECONDS),
        }
      : NONE;
    return { status: 204, headers: { ...shared, ...allowed, allow: METHODS }, body: "" };
  }
}

export interface BrowserRuleOptions {
  readonly logins: BrowserLogins;
  /** The path below which browsers are served. */
  readonly path: string;
  /** The login path, which needs no authentication. */
  readonly loginPath: string;
  readonly origins: OriginRule;
}

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const FOREIGN = "This request comes from a page of another origin. --cors-origin adds one.";

/** Additional rules for browsers. A request with a token counts as a program's. */
export class BrowserRule {
  readonly #options: BrowserRuleOptions;

  constructor(options: BrowserRuleOptions) {
    this.#options = options;
  }

  /** Why a changing request does not come from a page of this server; undefined if it may. */
  objection(request: IncomingMessage): string | undefined {
    const { headers, method = "" } = request;
    if (!this.#isBelow(request) || SAFE.has(method) || headers.authorization !== undefined) return undefined;
    const { origin } = headers;
    // A program without a cookie or token is identified by its connection, and sends no Origin.
    if (origin === undefined) return this.recall(request) ? FOREIGN : undefined;
    return isSameAuthority(origin, headers.host) || this.#options.origins.isListed(origin) ? undefined : FOREIGN;
  }

  isLogin(request: IncomingMessage): boolean {
    return requestPath(request) === this.#options.loginPath && request.headers.authorization === undefined;
  }

  /** The browser's identity. The cookie is ignored outside the browser path, and if there is a token. */
  recall(request: IncomingMessage): BrowserIdentity | undefined {
    if (!this.#isBelow(request) || request.headers.authorization !== undefined) return undefined;
    return this.#options.logins.recall(request);
  }

  /** Whether the sender of the cookie is the user who logged in, as far as that can be determined. */
  isOfSameUser(request: IncomingMessage): boolean | Promise<boolean> {
    return this.#options.logins.isOfSameUser(request);
  }

  #isBelow(request: IncomingMessage): boolean {
    return requestPath(request).startsWith(`${this.#options.path}/`);
  }
}

/** Whether the origin matches the request's host. `Host` was checked before. The scheme is ignored, because a proxy may terminate TLS. */
function isSameAuthority(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: authority } = new URL(origin);
  const named = URL.canParse(`${protocol}//${host}`) ? new URL(`${protocol}//${host}`).host : undefined;
  return (protocol === "http:" || protocol === "https:") && authority === named;
}
