import type { IncomingMessage } from "node:http";
import type { OriginRule } from "../host/origins.js";
import { requestPath } from "../requestHeaders.js";
import type { BrowserIdentity, BrowserLogins } from "./browserLogins.js";

export interface BrowserRuleOptions {
  readonly logins: BrowserLogins;
  /** What browsers use: everything below this path. */
  readonly path: string;
  /** Where they log in, which needs nobody to be known. */
  readonly loginPath: string;
  readonly origins: OriginRule;
}

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const FOREIGN = "This request comes from a page of another origin. --cors-origin adds one.";

/** What is different for requests of browsers. Requests with a token are programs', whoever sends them. */
export class BrowserRule {
  readonly #options: BrowserRuleOptions;

  constructor(options: BrowserRuleOptions) {
    this.#options = options;
  }

  /** Why a request that changes something is not a page's of this server; undefined when nothing speaks against it. */
  objection(request: IncomingMessage): string | undefined {
    const { headers, method = "" } = request;
    if (!this.#isBelow(request) || SAFE.has(method) || headers.authorization !== undefined) return undefined;
    const { origin } = headers;
    // A program that shows nothing at all is known by its connection, and sends no Origin.
    if (origin === undefined) return this.recall(request) ? FOREIGN : undefined;
    return isSameAuthority(origin, headers.host) || this.#options.origins.isListed(origin) ? undefined : FOREIGN;
  }

  isLogin(request: IncomingMessage): boolean {
    return requestPath(request) === this.#options.loginPath && request.headers.authorization === undefined;
  }

  /** Who the browser stands for. Elsewhere, and beside a token, a cookie says nothing. */
  recall(request: IncomingMessage): BrowserIdentity | undefined {
    if (!this.#isBelow(request) || request.headers.authorization !== undefined) return undefined;
    return this.#options.logins.recall(request);
  }

  #isBelow(request: IncomingMessage): boolean {
    return requestPath(request).startsWith(`${this.#options.path}/`);
  }
}

/** Whether a page of this origin was loaded from the host that the request is for. `Host` was checked; a proxy may have taken TLS off. */
function isSameAuthority(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: authority } = new URL(origin);
  const named = URL.canParse(`${protocol}//${host}`) ? new URL(`${protocol}//${host}`).host : undefined;
  return (protocol === "http:" || protocol === "https:") && authority === named;
}
