import type { IncomingMessage } from "node:http";
import type { AccessTokens } from "./accessTokens.js";
import type { Answer, Visitor } from "./admission.js";
import { type LoginRefusal, refuseLogin } from "./answers.js";
import { credentialOf, WHERE_TOKENS_BELONG } from "./bearer.js";
import { FailedLogins } from "./failedLogins.js";
import type { KnownTokens } from "./knownTokens.js";
import type { ResourceMetadata } from "./resourceMetadata.js";
import type { Verdict } from "./verdict.js";

export interface LoginParts {
  readonly tokens: KnownTokens;
  readonly oauth?: { readonly accessTokens: AccessTokens; readonly metadata: ResourceMetadata };
  readonly report: (line: string) => void;
}

/** Who it is, or the refusal. */
export type LoginOutcome = { readonly visitor: Visitor } | { readonly answer: Answer };

/** When an issuer that could not be reached is worth another try. */
const RETRY_SECONDS = 5;

/** Finds out who sends a request, by its bearer token. */
export class Login {
  readonly #failed = new FailedLogins();

  constructor(private readonly parts: LoginParts) {}

  identify(request: IncomingMessage): LoginOutcome | Promise<LoginOutcome> {
    const credential = credentialOf(request);
    switch (credential.kind) {
      case "none":
        return this.#challenge(request, { description: `A token is needed. ${WHERE_TOKENS_BELONG}` });
      case "unusable":
        return this.#challenge(request, { error: "invalid_token", description: `${credential.complaint} ${WHERE_TOKENS_BELONG}` });
      case "token":
        return this.#check(request, credential.token);
    }
  }

  #check(request: IncomingMessage, token: string): LoginOutcome | Promise<LoginOutcome> {
    const waitMs = this.#failed.waitMs(addressOf(request));
    if (waitMs > 0) return tooManyFailures(waitMs);
    const { tokens, oauth } = this.parts;
    const visitor = oauth?.accessTokens.recall(token) ?? tokens.find(token);
    if (visitor) return { visitor };
    if (!oauth) return this.#outcome(request, { kind: "unknown" });
    return oauth.accessTokens.check(token).then((verdict) => this.#outcome(request, verdict));
  }

  #outcome(request: IncomingMessage, verdict: Verdict): LoginOutcome {
    switch (verdict.kind) {
      case "valid":
        return { visitor: verdict.visitor };
      case "unknown":
        this.#countFailure(addressOf(request));
        return this.#challenge(request, { error: "invalid_token", description: "The token is not known here." });
      case "unfit":
        return this.#challenge(request, { error: "invalid_token", description: verdict.reason });
      case "insufficient scope":
        return this.#challenge(request, {
          error: "insufficient_scope",
          description: "The token lacks a scope.",
          scope: verdict.needed.join(" "),
        });
      case "unchecked":
        return refused({
          status: 503,
          error: "temporarily_unavailable",
          description: `The token could not be checked: ${verdict.reason}`,
          headers: { "retry-after": String(RETRY_SECONDS) },
        });
    }
  }

  #countFailure(address: string): void {
    const exhausted = this.#failed.record(address);
    if (exhausted === undefined) return;
    this.parts.report(
      exhausted === "one address"
        ? `too many wrong tokens from ${address}; none is taken from there for a minute`
        : "too many wrong tokens from many addresses; after a wrong one, none is taken from its address for a minute",
    );
  }

  #challenge(request: IncomingMessage, { error, description, scope }: Challenge): LoginOutcome {
    const attributes = {
      realm: "codex-mcpd",
      ...(error && { error, error_description: description }),
      ...(scope && { scope }),
      ...(this.parts.oauth && { resource_metadata: this.parts.oauth.metadata.urlFor(request) }),
    };
    return refused({
      status: STATUS[error ?? "invalid_token"],
      error: error ?? "invalid_token",
      description,
      headers: { "www-authenticate": `Bearer ${Object.entries(attributes).map(quoted).join(", ")}` },
    });
  }
}

interface Challenge {
  /** Absent when no token was sent: the client is told what is needed, not that it did something wrong. */
  readonly error?: "invalid_token" | "insufficient_scope";
  readonly description: string;
  readonly scope?: string;
}

const STATUS = { invalid_token: 401, insufficient_scope: 403 } as const;

function tooManyFailures(waitMs: number): LoginOutcome {
  return refused({
    status: 429,
    error: "too_many_requests",
    description: "Too many wrong tokens came from this address.",
    headers: { "retry-after": String(Math.ceil(waitMs / 1_000)) },
  });
}

function refused(refusal: LoginRefusal): LoginOutcome {
  return { answer: refuseLogin(refusal) };
}

function quoted([name, value]: readonly [string, string]): string {
  return `${name}="${value.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, "?")}"`;
}

/** Behind a proxy this is the proxy's: its clients share what is allowed to one address. */
function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? "";
}
