import type { IncomingMessage } from "node:http";
import type { Principal } from "../../agent/caller.js";
import type { Visitor } from "./admission.js";
import { refuseRequest } from "./answers.js";
import { credentialOf } from "./bearer.js";
import { isForwarded } from "./forwarding.js";
import type { KnownTokens } from "./knownTokens.js";
import type { Login, LoginOutcome, Occasion } from "./login.js";
import type { Peer } from "./peers.js";

/** The server's own user: everything but what belongs to others. */
const LOCAL: Visitor = { principal: "local" as Principal, scopes: ["call", "read", "manage"] };

export interface LocalDoorParts {
  /** Every user of the machine is taken for the server's. */
  readonly anyUser: boolean;
  readonly tokens: KnownTokens;
  readonly login: Login;
  readonly upgradeObjection: (request: IncomingMessage) => string | undefined;
}

/** Who comes in where no token was set and only this machine can reach the server: its user unasked, everybody else with the server's own token. */
export class LocalDoor {
  readonly #local: LoginOutcome = { visitor: LOCAL };

  constructor(private readonly parts: LocalDoorParts) {}

  identify(request: IncomingMessage, peer: Peer, occasion: Occasion): LoginOutcome | Promise<LoginOutcome> {
    const { anyUser, tokens, login, upgradeObjection } = this.parts;
    const need = anyUser ? undefined : whyToken(request, peer);
    if (need !== undefined) return login.identify(request, occasion, need);
    // Whoever comes in anyway may send any token, or the one that gives more.
    const credential = credentialOf(request);
    const visitor = credential.kind === "token" ? tokens.find(credential.token) : undefined;
    if (visitor) return { visitor };
    const objection = upgradeObjection(request);
    return objection === undefined ? this.#local : { answer: refuseRequest(403, objection) };
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
