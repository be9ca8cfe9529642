import type { IncomingMessage } from "node:http";
import { type LoginRefusal, refuseLogin } from "../answers.js";
import type { ClientAddresses } from "../host/clientAddresses.js";
import type { LoginOutcome } from "../identity.js";
import type { AccessTokens, Verdict } from "../oauth/accessTokens.js";
import type { ResourceMetadata } from "../oauth/resourceMetadata.js";
import { credentialOf, WHERE_TOKENS_BELONG } from "../requestHeaders.js";
import { FailedLogins } from "./failedLogins.js";
import type { KnownTokens } from "./knownTokens.js";

export interface LoginParts {
  readonly tokens: KnownTokens;
  /** Determines where wrong tokens come from. */
  readonly addresses: ClientAddresses;
  readonly oauth?: { readonly accessTokens: AccessTokens; readonly metadata: ResourceMetadata };
  readonly report: (line: string) => void;
}

/** A request is checked when it arrives, and again while it is served. Only the first check counts towards the limit of wrong tokens. */
export type Occasion = "arrives" | "stays";

/** Retry-After while the issuer cannot be reached. */
const RETRY_SECONDS = 5;

/** Identifies the sender of a request by its bearer token. */
export class Login {
  readonly #parts: LoginParts;
  readonly #failed = new FailedLogins();

  constructor(parts: LoginParts) {
    this.#parts = parts;
  }

  /** `need` says why a token is required. */
  identify(request: IncomingMessage, occasion: Occasion, need = "A token is needed."): LoginOutcome | Promise<LoginOutcome> {
    const credential = credentialOf(request);
    switch (credential.kind) {
      case "none":
        return this.#challenge(request, { description: `${need} ${WHERE_TOKENS_BELONG}` });
      case "unusable":
        return this.#challenge(request, { error: "invalid_token", description: `${credential.complaint} ${WHERE_TOKENS_BELONG}` });
      case "token":
        return this.#check(request, credential.token, occasion);
    }
  }

  /** A correct token is accepted, however many wrong ones came from the same address: others may share the address. */
  #check(request: IncomingMessage, token: string, occasion: Occasion): LoginOutcome | Promise<LoginOutcome> {
    const { tokens, oauth } = this.#parts;
    const identity = oauth?.accessTokens.recall(token) ?? tokens.find(token);
    if (identity) return { identity };
    if (!oauth) return this.#outcome(request, { kind: "unknown" }, occasion);
    return oauth.accessTokens.check(token).then((verdict) => this.#outcome(request, verdict, occasion));
  }

  #outcome(request: IncomingMessage, verdict: Verdict, occasion: Occasion): LoginOutcome {
    switch (verdict.kind) {
      case "valid":
        return { identity: verdict.identity };
      case "unknown":
        return (
          (occasion === "arrives" ? this.#slowedDown(request) : undefined) ??
          this.#challenge(request, { error: "invalid_token", description: "The token is not known here." })
        );
      case "unfit":
        return this.#challenge(request, { error: "invalid_token", description: verdict.reason });
      case "insufficient-scope":
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

  /** The response when there were too many wrong tokens. */
  #slowedDown(request: IncomingMessage): LoginOutcome | undefined {
    const address = this.#parts.addresses.of(request);
    const waitMs = this.#failed.waitMs(address);
    if (waitMs > 0) return tooManyFailures(waitMs);
    const exhausted = this.#failed.record(address);
    if (exhausted === undefined) return undefined;
    this.#parts.report(
      exhausted === "one-address"
        ? `too many wrong tokens from ${address}; further ones from there are refused for a minute`
        : "too many wrong tokens from many addresses; after a wrong one, further ones from its address are refused for a minute",
    );
    return undefined;
  }

  #challenge(request: IncomingMessage, { error, description, scope }: Challenge): LoginOutcome {
    const attributes = {
      realm: "codex-mcpd",
      ...(error && { error, error_description: description }),
      ...(scope && { scope }),
      ...(this.#parts.oauth && { resource_metadata: this.#parts.oauth.metadata.urlFor(request) }),
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
  /** Absent if no token was sent: the client learns what is needed, not that it made an error. */
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
