import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { AccessMisconfigured } from "../errors.js";
import type { AnswerHeaders, HttpAnswer } from "../identity.js";
import { hostOfAuthority, isLoopbackName, reachOf } from "./hostName.js";

export interface OriginSettings {
  /** What the server binds to. */
  readonly host: string;
  readonly corsOrigins: readonly string[];
}

/** Which web pages may send requests. Programs send no `Origin`, and are not the matter here. */
export class OriginRule {
  readonly #listed: ReadonlySet<string>;
  readonly #onThisMachine: boolean;

  constructor({ host, corsOrigins }: OriginSettings) {
    this.#listed = new Set(corsOrigins.map(originOfSetting));
    this.#onThisMachine = reachOf(host) === "this machine";
  }

  /** The sentence that refuses the request; undefined when its origin is fine. */
  objection(request: IncomingMessage): string | undefined {
    const { origin } = request.headers;
    if (origin === undefined) return isUnseenCrossSite(request) ? "Requests from other web sites are not answered." : undefined;
    if (this.isListed(origin) || this.#isLocalPage(origin)) return undefined;
    return "The origin of this request is not one this server answers to. --cors-origin adds one.";
  }

  /**
   * The same of an upgrade that shows no token. WebSockets know no CORS: a page of any other port of this machine, such as a repository's own, could
   * drive the agent and read its answers.
   */
  upgradeObjection(request: IncomingMessage): string | undefined {
    const { origin, upgrade } = request.headers;
    if (upgrade === undefined || origin === undefined || this.isListed(origin) || isOwnOrigin(origin, request)) return undefined;
    return "Without a token a WebSocket is for programs and for pages of this very server. --cors-origin adds an origin.";
  }

  get anyListed(): boolean {
    return this.#listed.size > 0;
  }

  isListed(origin: string): boolean {
    return this.#listed.has(origin.toLowerCase());
  }

  /** A page of this machine, where only this machine can reach the server. */
  #isLocalPage(origin: string): boolean {
    if (!this.#onThisMachine) return false;
    const [, authority = ""] = /^https?:\/\/([^/]*)$/i.exec(origin) ?? [];
    const host = hostOfAuthority(authority);
    return host !== undefined && isLoopbackName(host);
  }
}

/** Scheme, host and port of this server, whatever port the request claims to be for. */
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

/** Browsers leave `Origin` out of images, frames and the like, and say in another header that a page of another site asks. */
function isUnseenCrossSite({ headers }: IncomingMessage): boolean {
  return headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-dest"] !== "document";
}

/** An origin as browsers send it. Those of extensions and editors have schemes for which URLs know no origin. */
export function originOfSetting(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "" && /^\/?$/.test(url.pathname);
  if (!bare || url.host === "")
    throw new AccessMisconfigured(`--cors-origin ${JSON.stringify(text)}: expected one origin, such as https://app.example.com`);
  return url.origin === "null" ? `${url.protocol}//${url.host}`.toLowerCase() : url.origin;
}

const METHODS = "GET, POST, DELETE, OPTIONS";
/** What any protocol on HTTP has. */
const OWN_REQUEST_HEADERS = ["authorization", "content-type", "last-event-id", "traceparent", "tracestate"];
const OWN_EXPOSED_HEADERS = ["www-authenticate", "retry-after"];
/** Browsers keep an answer to a preflight for at most about two hours. */
const PREFLIGHT_SECONDS = 7_200;

const NONE: AnswerHeaders = {};
const DEPENDS_ON_ORIGIN: AnswerHeaders = { vary: "Origin" };

/** The headers of the protocols that are served. */
export interface CorsHeaders {
  /** That pages may send. */
  readonly accepted: readonly string[];
  /** That pages may read. */
  readonly exposed: readonly string[];
}

/** What browsers are told. Nothing, unless the operator has listed origins. */
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

  /** For every answer to the request. There are no cookies, so browsers need not be allowed to send any. */
  headersFor({ headers: { origin } }: IncomingMessage): AnswerHeaders {
    if (origin === undefined || !this.#origins.isListed(origin)) return this.#unlisted;
    return { ...DEPENDS_ON_ORIGIN, "access-control-allow-origin": origin, "access-control-expose-headers": this.#exposed };
  }

  /** The answer to any OPTIONS; browsers ask without a token. */
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
