import type { IncomingMessage } from "node:http";
import type { Principal } from "../agent/caller.js";
import type { Admission, Answer, AnswerHeaders, Visitor } from "./access/admission.js";
import { jsonAnswer, refuseLogin, refuseRequest, withHeaders } from "./access/answers.js";
import { HostRule } from "./access/host/hostRule.js";
import { Cors, OriginRule } from "./access/host/origins.js";
import { pathOf } from "./access/requestHeaders.js";
import { hasTokenInQuery, WHERE_TOKENS_BELONG } from "./access/tokens/bearer.js";
import type { LoginOutcome, Occasion } from "./access/tokens/login.js";
import { type Identification, type IdentificationOptions, openIdentification } from "./identification.js";

export interface AccessControlOptions extends Omit<IdentificationOptions, "upgradeObjection"> {
  /** Origins of browser clients. */
  readonly corsOrigins?: readonly string[];
  /** Paths that need no token; Host and Origin are checked there too. */
  readonly openPaths?: readonly string[];
}

/** Throws when a setting cannot be used, or would let other machines in unasked. */
export async function openAccessControl(options: AccessControlOptions): Promise<AccessControl> {
  const { host, allowedHosts = [], corsOrigins = [], openPaths = [] } = options;
  // Before anything is opened: these settings may be refused too.
  const rules = {
    hosts: new HostRule({ host, allowedHosts }),
    origins: new OriginRule({ host, corsOrigins }),
    openPaths: new Set(openPaths),
  };
  const identification = await openIdentification({ ...options, upgradeObjection: (request) => rules.origins.upgradeObjection(request) });
  return new AccessControl(identification, rules);
}

interface Rules {
  readonly hosts: HostRule;
  readonly origins: OriginRule;
  readonly openPaths: ReadonlySet<string>;
}

/** Whoever asks for what needs no token. */
const NOBODY: Visitor = { principal: "nobody" as Principal, scopes: [] };
const WELL_KNOWN = "/.well-known/";

/** Stands before everything else that looks at a request or an upgrade. */
export class AccessControl {
  readonly #cors: Cors;

  constructor(
    private readonly identification: Identification,
    private readonly rules: Rules,
  ) {
    this.#cors = new Cors(rules.origins);
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

  /** The folders that single visitors were given, all of them. They change with the file of tokens. */
  givenRoots(): readonly string[] {
    return this.identification.roots();
  }

  /** Ends what watches files and asks issuers. */
  async close(): Promise<void> {
    await this.identification.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #judge(request: IncomingMessage, occasion: Occasion): Admission | Promise<Admission> {
    const foreign = this.rules.hosts.objection(request) ?? this.rules.origins.objection(request);
    if (foreign !== undefined) return { answer: refuseRequest(403, foreign) };
    const headers = this.#cors.headersFor(request);
    const own = this.#ownAnswer(request);
    if (own) return { answer: withHeaders(own, headers) };
    if (this.rules.openPaths.has(pathOf(request))) return { visitor: NOBODY, headers };
    const outcome = this.identification.identify(request, occasion);
    return outcome instanceof Promise ? outcome.then((settled) => admission(settled, headers)) : admission(outcome, headers);
  }

  #ownAnswer(request: IncomingMessage): Answer | undefined {
    if (request.method === "OPTIONS") return this.#cors.preflight(request);
    // A target that names a host of its own would make the check of `Host` worthless.
    if (request.url?.startsWith("/") !== true) return refuseRequest(400, "The target of a request is a path.");
    if (hasTokenInQuery(request)) return TOKEN_IN_QUERY;
    if (!request.url.startsWith(WELL_KNOWN)) return undefined;
    // Clients look here for an issuer when they are refused; a refusal here too would mislead them.
    return this.identification.metadata?.answer(request) ?? NOT_FOUND;
  }
}

const TOKEN_IN_QUERY = refuseLogin({
  status: 400,
  error: "invalid_request",
  description: `A token in the URL ends up in logs and histories. ${WHERE_TOKENS_BELONG}`,
});
const NOT_FOUND = jsonAnswer(404, { error: "not_found", error_description: "There is no such document." });

function admission(outcome: LoginOutcome, headers: AnswerHeaders): Admission {
  return "visitor" in outcome ? { visitor: outcome.visitor, headers } : { answer: withHeaders(outcome.answer, headers) };
}
