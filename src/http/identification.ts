import type { IncomingMessage } from "node:http";
import { forbidden } from "./access/answers.js";
import { AccessMisconfigured, UnguardedExposure } from "./access/errors.js";
import { ClientAddresses } from "./access/host/clientAddresses.js";
import { reachOf } from "./access/host/hostName.js";
import type { Identity, LoginOutcome, ScopeWords } from "./access/identity.js";
import { LocalLogin } from "./access/local/localLogin.js";
import { type OwnSide, type Peer, Peers } from "./access/local/peers.js";
import { openAccessTokens } from "./access/oauth/accessTokens.js";
import { checkOAuth, type OAuthSettings } from "./access/oauth/oauthSettings.js";
import { ResourceMetadata } from "./access/oauth/resourceMetadata.js";
import { KnownTokens } from "./access/tokens/knownTokens.js";
import { Login, type Occasion } from "./access/tokens/login.js";

export interface IdentificationOptions {
  /** What the server binds to. */
  readonly host: string;
  /** Other names it may be reached by. */
  readonly allowedHosts?: readonly string[];
  /** Of the command line and the environment. */
  readonly tokens?: readonly string[];
  readonly tokenFile?: string;
  readonly oauth?: OAuthSettings;
  /** Take every user of this machine for the server's own. */
  readonly allowUnauthenticated?: boolean;
  /** Proxies that are believed whom they speak for: addresses and networks. */
  readonly trustedProxies?: readonly string[];
  /** This machine says which user has made a connection. */
  readonly tellsUsers?: boolean;
  /** The file of the token that the server's user has where none was set. */
  readonly ownTokenFile?: string;
  readonly ownSide?: OwnSide;
  /** Why an upgrade without a token is refused, if it is. */
  readonly upgradeObjection: (request: IncomingMessage) => string | undefined;
  readonly report: (line: string) => void;
  /** Told of every token in force, so that none appears in a log. */
  readonly keepSecret?: (token: string) => void;
  readonly scopes: ScopeWords;
  /** Where the resource is served that an issuer's tokens are for. */
  readonly resourcePath: string;
}

/** How callers are told apart. */
export interface Identification {
  identify(request: IncomingMessage, occasion: Occasion): LoginOutcome | Promise<LoginOutcome>;
  /** The same for somebody who is known already, unless the connection is of this server's own making. */
  vouchedFor(request: IncomingMessage, identity: Identity): LoginOutcome | Promise<LoginOutcome>;
  /** Where tokens come from, if an issuer gives them out. */
  readonly metadata?: ResourceMetadata;
  /** The folders that single callers were given, all of them. */
  roots(): readonly string[];
  close(): Promise<void>;
}

/** Throws when a setting cannot be used, or would let other machines in unasked. */
export async function openIdentification(options: IdentificationOptions): Promise<Identification> {
  const { tokens = [], tokenFile, oauth, trustedProxies, report, keepSecret, scopes } = options;
  const addresses = new ClientAddresses(trustedProxies);
  if (tokens.length === 0 && tokenFile === undefined && oauth === undefined) return byUser(options, addresses);
  if (oauth) checkOAuth(oauth);
  const known = KnownTokens.open({ tokens, tokenFile, report, keepSecret, scopes });
  try {
    return await byTokens(known, options, addresses);
  } catch (error) {
    known.close();
    throw error;
  }
}

function byUser(options: IdentificationOptions, addresses: ClientAddresses): Identification {
  const { host, allowedHosts = [], allowUnauthenticated = false, ownTokenFile, report, keepSecret, ownSide, scopes } = options;
  const tellsUsers = !allowUnauthenticated && options.tellsUsers === true;
  const exposure = { host, allowedHosts, allowUnauthenticated };
  refuseUnguardedExposure(exposure);
  if (!tellsUsers && !allowUnauthenticated && ownTokenFile === undefined)
    throw new AccessMisconfigured(
      "nobody could come in: this machine does not say which user has made a connection, and there is no token",
    );
  const warning = warningOfExposure(exposure);
  if (warning !== undefined) report(warning);
  const tokens = KnownTokens.open({ tokens: [], tokenFile: ownTokenFile, report, keepSecret, scopes });
  const login = new Login({ tokens, addresses, report });
  const local = new LocalLogin({ anyUser: allowUnauthenticated, tokens, login, scopes, upgradeObjection: options.upgradeObjection });
  const peers = new Peers({ ownSide, tellsUsers });
  return {
    identify: (request, occasion) => byPeer(request, { peers, scopes }, (peer) => local.identify(request, peer, occasion)),
    vouchedFor: (request, identity) => byPeer(request, { peers, scopes }, () => ({ identity })),
    roots: () => tokens.roots,
    close: async () => tokens.close(),
  };
}

async function byTokens(
  tokens: KnownTokens,
  { oauth: settings, report, ownSide, scopes, resourcePath }: IdentificationOptions,
  addresses: ClientAddresses,
): Promise<Identification> {
  const oauth = settings && {
    accessTokens: await openAccessTokens(settings, { report, scopes }),
    metadata: new ResourceMetadata(settings, resourcePath),
  };
  const login = new Login({ tokens, addresses, report, ...(oauth && { oauth }) });
  const peers = new Peers({ ownSide, tellsUsers: false });
  return {
    identify: (request, occasion) => byPeer(request, { peers, scopes }, () => login.identify(request, occasion)),
    vouchedFor: (request, identity) => byPeer(request, { peers, scopes }, () => ({ identity })),
    ...(oauth && { metadata: oauth.metadata }),
    roots: () => tokens.roots,
    async close() {
      tokens.close();
      await oauth?.accessTokens.close();
    },
  };
}

type Identify = (peer: Peer) => LoginOutcome | Promise<LoginOutcome>;

/** Whatever a request shows, what this server has started does not become somebody else by it. */
function byPeer(
  request: IncomingMessage,
  { peers, scopes }: { readonly peers: Peers; readonly scopes: ScopeWords },
  identify: Identify,
): LoginOutcome | Promise<LoginOutcome> {
  const identifyPlaced = (peer: Peer) => {
    switch (peer.place) {
      case "outside":
        return identify(peer);
      case "inside":
        return Promise.resolve(identify(peer)).then((outcome) => markedInside(outcome, scopes));
      case "sandbox":
        return SANDBOXED;
    }
  };
  const peer = peers.of(request.socket);
  return peer instanceof Promise ? peer.then(identifyPlaced) : identifyPlaced(peer);
}

/** Not even with a token of an operator it changes what counts for everybody: it may be the model's idea. */
function markedInside(outcome: LoginOutcome, { usual }: ScopeWords): LoginOutcome {
  if (!("identity" in outcome)) return outcome;
  const { identity } = outcome;
  return { identity: { ...identity, inside: true, scopes: identity.scopes.filter((scope) => usual.includes(scope)) } };
}

const SANDBOXED = forbidden(
  "Commands that run in a sandbox of this server may not call it, and this connection is of one, or cannot be told from theirs.",
);

interface Exposure {
  /** What the server binds to. */
  readonly host: string;
  /** Other names it answers to. */
  readonly allowedHosts: readonly string[];
  /** Whoever is on this machine comes in unasked. */
  readonly allowUnauthenticated: boolean;
}

/** Whoever reaches the server can make this machine work, so other machines come in with a token only. */
function refuseUnguardedExposure({ host }: Exposure): void {
  if (reachOf(host) === "this machine") return;
  throw new UnguardedExposure(
    `other machines could reach ${host || "this server"} and use the agent without a token; set CODEX_MCP_TOKEN, --token-file or ` +
      "--oauth-issuer",
  );
}

/** What the operator should know of a server that asks nobody for a token. */
function warningOfExposure({ allowedHosts, allowUnauthenticated }: Exposure): string | undefined {
  if (allowUnauthenticated)
    return "every user of this machine, and whatever forwards requests to it, may use the agent: no token is asked for";
  if (allowedHosts.length === 0) return undefined;
  return `requests for ${allowedHosts.join(", ")} need no token unless they say that they were forwarded: a proxy that does not let them say it lets everybody in`;
}
