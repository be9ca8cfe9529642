import type { IncomingMessage } from "node:http";
import type { Answer, AnswerHeaders } from "./admission.js";
import type { OriginRule } from "./originRule.js";

const METHODS = "GET, POST, DELETE, OPTIONS";
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "traceparent",
  "tracestate",
  "x-mcp-post-stream",
].join(", ");
const SHOWN_HEADERS = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";
/** Browsers keep an answer to a preflight for at most about two hours. */
const PREFLIGHT_SECONDS = 7_200;

const NONE: AnswerHeaders = {};
const DEPENDS_ON_ORIGIN: AnswerHeaders = { vary: "Origin" };

/** What browsers are told. Nothing, unless the operator has listed origins. */
export class Cors {
  readonly #unlisted: AnswerHeaders;

  constructor(private readonly origins: OriginRule) {
    this.#unlisted = origins.anyListed ? DEPENDS_ON_ORIGIN : NONE;
  }

  /** For every answer to the request. There are no cookies, so browsers need not be allowed to send any. */
  headersFor({ headers: { origin } }: IncomingMessage): AnswerHeaders {
    if (origin === undefined || !this.origins.isListed(origin)) return this.#unlisted;
    return { ...DEPENDS_ON_ORIGIN, "access-control-allow-origin": origin, "access-control-expose-headers": SHOWN_HEADERS };
  }

  /** The answer to any OPTIONS; browsers ask without a token. */
  preflight(request: IncomingMessage): Answer {
    const shared = this.headersFor(request);
    const allowed: AnswerHeaders = shared["access-control-allow-origin"]
      ? {
          "access-control-allow-methods": METHODS,
          "access-control-allow-headers": REQUEST_HEADERS,
          "access-control-max-age": String(PREFLIGHT_SECONDS),
        }
      : NONE;
    return { status: 204, headers: { ...shared, ...allowed, allow: METHODS }, body: "" };
  }
}
