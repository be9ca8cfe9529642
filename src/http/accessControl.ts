import type { IncomingMessage } from "node:http";
import { jsonAnswer, jsonTextAnswer, refuseLogin } from "./access/answers.js";
import { BrowserRule, type BrowserRuleOptions } from "./access/browser/browserRule.js";
import { HostRule } from "./access/host/hostRule.js";
import { Cors, type CorsHeaders, OriginRule } from "./access/host/origins.js";
import type { Admission, AnswerHeaders, HttpAnswer, Identity, LoginOutcome } from "./access/identity.js";
import { hasTokenInQuery, requestPath, WHERE_TOKENS_BELONG } from "./access/requestHeaders.js";
import type { Occasion } from "./access/tokens/login.js";
import { type Identification, type IdentificationOptions, openIdentification } from "./identification.js";
import { HttpProblem, type ProblemText } from "./problem.js";

export interface AccessControlOptions extends Omit<IdentificationOptions, "upgradeObjection"> {
  /** Origins of browser clients. */
  readonly corsOrigins?: readonly string[];
  /** Paths that need no token; Host and Origin are checked there too. */
  readonly openPaths?: readonly string[];
  /** Folders of which the same is true. */
  readonly openFolders?: readonly string[];
  /** How browsers come in, where there is something for them. */
  readonly browsers?: Omit<BrowserRuleOptions, "origins">;
  /** Headers that browsers must be told of, beside those of HTTP itself. */
  readonly corsHeaders?: CorsHeaders;
  /** How refusals are worded that are not about tokens. */
  readonly problemText: ProblemText;
  /** Gives a refusal the form that those expect who ask at this path. */
  readonly refusalAt?: (path: string, refusal: HttpAnswer) => HttpAnswer;
}

/** Throws when a setting cannot be used, or would let other machines in unasked. */
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
  // Before anything is opened: these settings may be refused too.
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

/** Whoever asks for what needs no token. */
const NOBODY: Identity = { principal: "nobody", scopes: [] };
const NO_HEADERS: CorsHeaders = { accepted: [], exposed: [] };
const WELL_KNOWN = "/.well-known/";

/** Stands before everything else that looks at a request or an upgrade. */
export class AccessControl {
  readonly #identification: Identification;
  readonly #rules: Rules;
  constructor(identification: Identification, rules: Rules) {
    this.#identification = identification;
    this.#rules = rules;
  }

  /**
   * Host, then Origin, then who it is. Never rejects, and answers at once unless it is the first request of a connection, or a token has to be
   * checked with the keys of its issuer.
   */
  admit(request: IncomingMessage): Admission | Promise<Admission> {
    return this.#judge(request, "arrives");
  }

  /** The same of a request that is still being served, since tokens expire and are withdrawn. Nobody is taken for a guesser by that. */
  readmit(request: IncomingMessage): Admission | Promise<Admission> {
    return this.#judge(request, "stays");
  }

  /** The folders that single callers were given, all of them. They change with the file of tokens. */
  givenRoots(): readonly string[] {
    return this.#identification.roots();
  }

  /** Ends what watches files and asks issuers. */
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
    const browser = this.#rules.browsers?.recall(request);
    if (!browser) return this.#identification.identify(request, occasion);
    if ("identity" in browser) return this.#identification.vouchedFor(request, { ...browser.identity, byCookie: true });
    // It stands for a token, which is looked at as if the request had it: it may have been withdrawn.
    const shown = Object.create(request, { headers: { value: { ...request.headers, authorization: browser.authorization } } });
    const outcome = this.#identification.identify(shown, occasion);
    return outcome instanceof Promise ? outcome.then(markedByCookie) : markedByCookie(outcome);
  }

  #ownAnswer(request: IncomingMessage): HttpAnswer | undefined {
    if (request.method === "OPTIONS") return this.#rules.cors.preflight(request);
    // A target that names a host of its own would make the check of `Host` worthless.
    if (request.url?.startsWith("/") !== true) return this.#refuse(400, "The target of a request is a path.");
    if (hasTokenInQuery(request)) return TOKEN_IN_QUERY;
    if (!request.url.startsWith(WELL_KNOWN)) return undefined;
    // Clients look here for an issuer when they are refused; a refusal here too would mislead them.
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

/** The answer's own headers count before those that every answer carries. */
function withDefaults(answer: HttpAnswer, headers: AnswerHeaders): HttpAnswer {
  return { ...answer, headers: { ...headers, ...answer.headers } };
}
