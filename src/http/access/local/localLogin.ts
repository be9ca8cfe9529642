import type { IncomingMessage } from "node:http";
import { forbidden } from "../answers.js";
import type { LoginOutcome, ScopeWords } from "../identity.js";
import { credentialOf } from "../requestHeaders.js";
import type { KnownTokens } from "../tokens/knownTokens.js";
import type { Login, Occasion } from "../tokens/login.js";
import type { Peer } from "./peers.js";

export interface LocalLoginParts {
  /** Every user of the machine is taken for the server's. */
  readonly anyUser: boolean;
  readonly tokens: KnownTokens;
  readonly login: Login;
  readonly scopes: ScopeWords;
  readonly upgradeObjection: (request: IncomingMessage) => string | undefined;
}

/** Who comes in where no token was set and only this machine can reach the server: its user unasked, everybody else with the server's own token. */
export class LocalLogin {
  readonly #parts: LocalLoginParts;
  /** Everything but what belongs to others. */
  readonly #ownUser: LoginOutcome;

  constructor(parts: LocalLoginParts) {
    this.#parts = parts;
    this.#ownUser = { identity: { principal: "local", scopes: parts.scopes.ownUser } };
  }

  identify(request: IncomingMessage, peer: Peer, occasion: Occasion): LoginOutcome | Promise<LoginOutcome> {
    const { anyUser, tokens, login, upgradeObjection } = this.#parts;
    const need = anyUser ? undefined : whyToken(request, peer);
    if (need !== undefined) return login.identify(request, occasion, need);
    // Whoever comes in anyway may send any token, or the one that gives more.
    const credential = credentialOf(request);
    const identity = credential.kind === "token" ? tokens.find(credential.token) : undefined;
    if (identity) return { identity };
    const objection = upgradeObjection(request);
    return objection === undefined ? this.#ownUser : forbidden(objection);
  }
}

function whyToken(request: IncomingMessage, { user }: Peer): string | undefined {
  if (isForwarded(request)) return `A token is needed: this request came through a proxy. ${WHOSE_TOKEN}`;
  switch (user) {
    case "own":
      return undefined;
    case "another":
      return `A token is needed: this server runs as another user of this machine. ${WHOSE_TOKEN}`;
    case "unknown":
      return `A token is needed: it could not be found out which user has made this connection. ${WHOSE_TOKEN}`;
  }
}

const WHOSE_TOKEN = "`codex-mcp-server token` shows it to the user who runs the server.";

/** What proxies and tunnels say of the clients they speak for; besides, everything that begins with `x-forwarded`. */
const NAMES = ["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"] as const;
const FAMILY = "x-forwarded";

/** Whether somebody else than the one who connects has sent this. Whose process has made the connection says nothing then. */
function isForwarded({ headers }: IncomingMessage): boolean {
  if (NAMES.some((name) => headers[name] !== undefined)) return true;
  for (const name in headers) if (name.startsWith(FAMILY)) return true;
  return false;
}
