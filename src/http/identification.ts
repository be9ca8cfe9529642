import type { IncomingMessage } from "node:http";
import { forbidden } from "./access/answers.js";
import { AccessMisconfigured, UnguardedExposure } from "./access/errors.js";
import { ClientAddresses } from "./access/host/clientAddresses.js";
import { reachOf } from "./access/host/hostName.js";
import type { Identity, LoginOutcome, ScopeWords } from "./access/identity.js";
import { LocalLogin, type OwnSide, type Peer, Peers } from "./access/local/localLogin.js";
import { openAccessTokens } from "./access/oauth/accessTokens.js";
import { checkOAuth, type OAuthSettings } from "./access/oauth/oauthSettings.js";
import { ResourceMetadata } from "./access/oauth/resourceMetadata.js";
import { KnownTokens } from "./access/tokens/knownTokens.js";
import { Login, type Occasion } from "./access/tokens/login.js";

export interface IdentificationOptions {
  /** The bind address of the server. */
  readonly host: string;
  /** Further host names of the server. */
  readonly allowedHosts?: readonly string[];
  /** From the command line and the environment. */
  readonly tokens?: readonly string[];
  readonly tokenFile?: string;
  readonly oauth?: OAuthSettings;
  /** Every user of this machine counts as the server's own. */
  readonly allowUnauthenticated?: boolean;
  /** Proxies whose forwarding headers are trusted: addresses and networks. */
  readonly trustedProxies?: readonly string[];
  /** Whether the operating system reports which user opened a connection. */
  readonly tellsUsers?: boolean;
  /** The file of the server's own token, used where no token is set. */
  readonly ownTokenFile?: string;
  readonly ownSide?: OwnSide;
  /** Why an upgrade without a token is refused, if it is. */
  readonly upgradeObjection: (request: IncomingMessage) => string | undefined;
  readonly report: (line: string) => void;
  /** Called with every token in force, so that logs mask it. */
  readonly keepSecret?: (token: string) => void;
  readonly scopes: ScopeWords;
  /** The path of the resource that an issuer's tokens are for. */
  readonly resourcePath: string;
}

/** How callers are identified. */
export interface Identification {
  identify(request: IncomingMessage, occasion: Occasion): LoginOutcome | Promise<LoginOutcome>;
  /** The same for a sender who is already identified, unless the connection comes from a process of this server. */
  vouchedFor(request: IncomingMessage, identity: Identity): LoginOutcome | Promise<LoginOutcome>;
  /** The OAuth metadata, if an issuer provides the tokens. */
  readonly metadata?: ResourceMetadata;
  /** All folders that single tokens allow. */
  roots(): readonly string[];
  close(): Promise<void>;
}

/** Throws if a setting is invalid, or would admit other machines without authentication. */
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
      "no client could connect: this machine does not report which user opened a connection, and there is no token",
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

/** A process started by this server keeps that identity, whatever credentials its request has. */
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

/**
 * Even with an operator's token, a process inside a turn must not change what applies to everyone: the model may have caused the request.
 */
function markedInside(outcome: LoginOutcome, { usual }: ScopeWords): LoginOutcome {
  if (!("identity" in outcome)) return outcome;
  const { identity } = outcome;
  return { identity: { ...identity, inside: true, scopes: identity.scopes.filter((scope) => usual.includes(scope)) } };
}

const SANDBOXED = forbidden(
  "Commands in a sandbox of this server may not call it. This connection comes from one, or cannot be distinguished from one.",
);

interface Exposure {
  /** The bind address of the server. */
  readonly host: string;
  /** Further host names of the server. */
  readonly allowedHosts: readonly string[];
  /** Whether everyone on this machine is admitted without a token. */
  readonly allowUnauthenticated: boolean;
}

/** Anyone who reaches the server can run work on this machine, so other machines need a token. */
function refuseUnguardedExposure({ host }: Exposure): void {
  if (reachOf(host) === "loopback") return;
  throw new UnguardedExposure(
    `other machines could reach ${host || "this server"} and use the agent without a token; set CODEX_MCP_TOKEN, --token-file or ` +
      "--oauth-issuer",
  );
}

/** The warning for the operator of a server without tokens. */
function warningOfExposure({ allowedHosts, allowUnauthenticated }: Exposure): string | undefined {
  if (allowUnauthenticated)
    return "every user of this machine, and every program that forwards requests to it, may use the agent without a token";
  if (allowedHosts.length === 0) return undefined;
  return `requests for ${allowedHosts.join(", ")} need no token unless a forwarding header marks them: a proxy that adds no such header admits everyone`;
}
