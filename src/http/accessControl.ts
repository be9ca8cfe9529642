import type { IncomingMessage } from "node:http";
import { jsonAnswer, jsonTextAnswer, refuseLogin } from "./access/answers.js";
import type { BrowserIdentity } from "./access/browser/browserLogins.js";
import { AccessMisconfigured } from "./access/errors.js";
import {
  type HostName,
  type HostReach,
  hostOfAuthority,
  hostOfSetting,
  isAddress,
  isLoopbackName,
  reachOf,
} from "./access/host/hostName.js";
import { BrowserRule, type BrowserRuleOptions, Cors, type CorsHeaders, OriginRule } from "./access/host/origins.js";
import type { Admission, AnswerHeaders, HttpAnswer, Identity, LoginOutcome } from "./access/identity.js";
import { hasTokenInQuery, isRepeated, requestPath, WHERE_TOKENS_BELONG } from "./access/requestHeaders.js";
import type { Occasion } from "./access/tokens/login.js";
import { type Identification, type IdentificationOptions, openIdentification } from "./identification.js";
import { HttpProblem, type ProblemText } from "./problem.js";

export interface AccessControlOptions extends Omit<IdentificationOptions, "upgradeObjection"> {
  /** The allowed origins of browser clients. */
  readonly corsOrigins?: readonly string[];
  /** Paths that need no token. Host and Origin are still checked. */
  readonly openPaths?: readonly string[];
  /** Folders that need no token. */
  readonly openFolders?: readonly string[];
  /** How browsers log in, if something is served to them. */
  readonly browsers?: Omit<BrowserRuleOptions, "origins">;
  /** Headers of the protocols, for CORS. */
  readonly corsHeaders?: CorsHeaders;
  /** The wire format of refusals that are not about tokens. */
  readonly problemText: ProblemText;
  /** Converts a refusal to the format that clients of this path expect. */
  readonly refusalAt?: (path: string, refusal: HttpAnswer) => HttpAnswer;
}

/** Throws if a setting is invalid, or would admit other machines without authentication. */
export async function openAccessControl(options: AccessControlOptions): Promise<AccessControl> {
  const {
    host,
    allowedHosts = [],
    corsOrigins = [],
    openPaths = [],
    openFolders = [],
    corsHeaders = NO_HEADERS,
    problemText,
    browsers,
  } = options;
  // Created before anything is opened, because these settings may be invalid too.
  const origins = new OriginRule({ host, corsOrigins });
  const rules = {
    hosts: new HostRule({ host, allowedHosts }),
    origins,
    cors: new Cors(origins, corsHeaders),
    openPaths: new Set(openPaths),
    openFolders,
    browsers: browsers && new BrowserRule({ ...browsers, origins }),
    problemText,
    refusalAt: options.refusalAt ?? ((_, refusal: HttpAnswer) => refusal),
  };
  const identification = await openIdentification({ ...options, upgradeObjection: (request) => origins.upgradeObjection(request) });
  return new AccessControl(identification, rules);
}

interface Rules {
  readonly hosts: HostRule;
  readonly origins: OriginRule;
  readonly cors: Cors;
  readonly openPaths: ReadonlySet<string>;
  readonly openFolders: readonly string[];
  readonly browsers: BrowserRule | undefined;
  readonly problemText: ProblemText;
  readonly refusalAt: (path: string, refusal: HttpAnswer) => HttpAnswer;
}

/** The sender of a request that needs no token. */
const NOBODY: Identity = { principal: "nobody", scopes: [] };
const NO_HEADERS: CorsHeaders = { accepted: [], exposed: [] };
const WELL_KNOWN = "/.well-known/";

/** Checks every request and upgrade before anything else handles it. */
export class AccessControl {
  readonly #identification: Identification;
  readonly #rules: Rules;
  constructor(identification: Identification, rules: Rules) {
    this.#identification = identification;
    this.#rules = rules;
  }

  /**
   * Checks Host, then Origin, then the sender. Never rejects. Synchronous unless it is the first request of a connection, or a token has to
   * be verified with its issuer's keys.
   */
  admit(request: IncomingMessage): Admission | Promise<Admission> {
    return this.#judge(request, "arrives");
  }

  /**
   * Checks again a request that is still being served, because tokens expire and are withdrawn. Does not count towards the limit of wrong
   * tokens.
   */
  readmit(request: IncomingMessage): Admission | Promise<Admission> {
    return this.#judge(request, "stays");
  }

  /** All folders that single tokens allow. They change with the token file. */
  givenRoots(): readonly string[] {
    return this.#identification.roots();
  }

  /** Stops watching files and loading keys. */
  async close(): Promise<void> {
    await this.#identification.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #judge(request: IncomingMessage, occasion: Occasion): Admission | Promise<Admission> {
    const formed = (admission: Admission): Admission => {
      if (!("answer" in admission) || admission.answer.status < 400) return admission;
      return { answer: this.#rules.refusalAt(requestPath(request), admission.answer) };
    };
    const judged = this.#decide(request, occasion);
    return judged instanceof Promise ? judged.then(formed) : formed(judged);
  }

  #decide(request: IncomingMessage, occasion: Occasion): Admission | Promise<Admission> {
    const { hosts, origins, browsers } = this.#rules;
    const foreign = hosts.objection(request) ?? origins.objection(request) ?? browsers?.objection(request);
    if (foreign !== undefined) return { answer: this.#refuse(403, foreign) };
    const headers = this.#rules.cors.headersFor(request);
    const own = this.#ownAnswer(request);
    if (own) return { answer: withDefaults(own, headers) };
    if (this.#isOpen(request)) return { identity: NOBODY, headers };
    const outcome = this.#identify(request, occasion);
    return outcome instanceof Promise ? outcome.then((settled) => this.#admission(settled, headers)) : this.#admission(outcome, headers);
  }

  #isOpen(request: IncomingMessage): boolean {
    const { openPaths, openFolders, browsers } = this.#rules;
    const path = requestPath(request);
    return openPaths.has(path) || openFolders.some((folder) => path.startsWith(folder)) || browsers?.isLogin(request) === true;
  }

  #identify(request: IncomingMessage, occasion: Occasion): LoginOutcome | Promise<LoginOutcome> {
    const { browsers } = this.#rules;
    const browser = browsers?.recall(request);
    if (!browsers || !browser) return this.#identification.identify(request, occasion);
    // A cookie that another user sends does not identify its sender.
    const identify = (isSameUser: boolean) =>
      isSameUser ? this.#identifyBrowser(request, browser, occasion) : this.#identification.identify(request, occasion);
    const isSameUser = browsers.isOfSameUser(request);
    return isSameUser instanceof Promise ? isSameUser.then(identify) : identify(isSameUser);
  }

  #identifyBrowser(request: IncomingMessage, browser: BrowserIdentity, occasion: Occasion): LoginOutcome | Promise<LoginOutcome> {
    if ("identity" in browser) return this.#identification.vouchedFor(request, { ...browser.identity, byCookie: true });
    // The cookie stands for a token, which is checked as if the request contained it: it may have been withdrawn.
    const shown = Object.create(request, { headers: { value: { ...request.headers, authorization: browser.authorization } } });
    const outcome = this.#identification.identify(shown, occasion);
    return outcome instanceof Promise ? outcome.then(markedByCookie) : markedByCookie(outcome);
  }

  #ownAnswer(request: IncomingMessage): HttpAnswer | undefined {
    if (request.method === "OPTIONS") return this.#rules.cors.preflight(request);
    // A target with its own host would bypass the check of `Host`.
    if (request.url?.startsWith("/") !== true) return this.#refuse(400, "The target of a request is a path.");
    if (hasTokenInQuery(request)) return TOKEN_IN_QUERY;
    if (!request.url.startsWith(WELL_KNOWN)) return undefined;
    // A refused client looks here for an issuer; a refusal here would mislead it.
    return this.#identification.metadata?.answer(request) ?? NOT_FOUND;
  }

  #admission(outcome: LoginOutcome, headers: AnswerHeaders): Admission {
    if ("identity" in outcome) return { identity: outcome.identity, headers };
    const answer = "answer" in outcome ? outcome.answer : this.#refuse(outcome.refusal.status, outcome.refusal.message);
    return { answer: withDefaults(answer, headers) };
  }

  #refuse(status: number, message: string): HttpAnswer {
    return jsonTextAnswer(status, this.#rules.problemText(new HttpProblem(status, message)));
  }
}

const TOKEN_IN_QUERY = refuseLogin({
  status: 400,
  error: "invalid_request",
  description: `A token in the URL ends up in logs and histories. ${WHERE_TOKENS_BELONG}`,
});
const NOT_FOUND = jsonAnswer(404, { error: "not_found", error_description: "There is no such document." });

function markedByCookie(outcome: LoginOutcome): LoginOutcome {
  return "identity" in outcome ? { identity: { ...outcome.identity, byCookie: true } } : outcome;
}

/** The response's own headers take precedence over the common ones. */
function withDefaults(answer: HttpAnswer, headers: AnswerHeaders): HttpAnswer {
  return { ...answer, headers: { ...headers, ...answer.headers } };
}

export interface HostSettings {
  /** The bind address of the server. */
  readonly host: string;
  /** Further host names, compared as a whole. */
  readonly allowedHosts: readonly string[];
}

/**
 * Decides which `Host` a request may have. A web page can point its own name at this machine (DNS rebinding), and then only this header
 * distinguishes its requests.
 */
export class HostRule {
  readonly #named: ReadonlySet<HostName>;
  readonly #reach: HostReach;
  /** The last accepted header: nearly all requests have the same. */
  #fine: string | undefined;

  constructor({ host, allowedHosts }: HostSettings) {
    this.#reach = reachOf(host);
    const bound = hostOfSetting(host);
    this.#named = new Set([...(bound ? [bound] : []), ...allowedHosts.map(allowedHost)]);
  }

  /** Why the request is refused; undefined if its host is allowed. */
  objection(request: IncomingMessage): string | undefined {
    const { host: header } = request.headers;
    if (header === undefined) return "The request has no Host header.";
    if (isRepeated(request, "host")) return "The request has more than one Host header.";
    if (header === this.#fine) return undefined;
    const host = hostOfAuthority(header);
    if (host === undefined) return "The Host header is not a host with an optional port.";
    if (!this.#allows(host)) return `This server does not accept requests for the host ${host}. --allow-host ${host} adds it.`;
    this.#fine = header;
    return undefined;
  }

  #allows(host: HostName): boolean {
    if (this.#named.has(host)) return true;
    switch (this.#reach) {
      case "loopback":
        return isLoopbackName(host);
      case "every-address":
        // DNS rebinding needs a name, so a literal address is safe.
        return isLoopbackName(host) || isAddress(host);
      case "one-address":
        return false;
    }
  }
}

function allowedHost(text: string): HostName {
  const host = hostOfSetting(text);
  if (host) return host;
  throw new AccessMisconfigured(
    `--allow-host ${JSON.stringify(text)}: expected one host name or address, without a scheme, a port or a wildcard`,
  );
}
