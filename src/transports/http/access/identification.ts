import type { IncomingMessage } from "node:http";
import type { Principal } from "../../../mcp/caller.js";
import { openAccessTokens } from "./accessTokens.js";
import type { Visitor } from "./admission.js";
import { refuseUnguardedExposure, warningOfExposure } from "./exposure.js";
import { reachOf } from "./hostName.js";
import { KnownTokens } from "./knownTokens.js";
import { Login, type LoginOutcome } from "./login.js";
import { checkOAuth, type OAuthSettings } from "./oauthSettings.js";
import { ResourceMetadata } from "./resourceMetadata.js";

export interface IdentificationOptions {
  /** What the server binds to. */
  readonly host: string;
  /** Other names it may be reached by. */
  readonly allowedHosts?: readonly string[];
  /** Of the command line and the environment. */
  readonly tokens?: readonly string[];
  readonly tokenFile?: string;
  readonly oauth?: OAuthSettings;
  /** Serve other machines although nobody is asked for a token. */
  readonly allowUnauthenticated?: boolean;
  readonly report: (line: string) => void;
  /** Told of every token in force, so that none appears in a log. */
  readonly keepSecret?: (token: string) => void;
}

/** How visitors are told apart. */
export interface Identification {
  identify(request: IncomingMessage): LoginOutcome | Promise<LoginOutcome>;
  /** Where tokens come from, if an issuer gives them out. */
  readonly metadata?: ResourceMetadata;
  close(): Promise<void>;
}

/** Whoever can reach a server that only this machine can reach is taken for its user. */
const LOCAL: Visitor = { principal: "local" as Principal, operator: true };
/** Everybody, where other machines are let in unasked. */
const ANYBODY: Visitor = { principal: "anybody" as Principal, operator: false };

/** Throws when a setting cannot be used, or would let other machines in unasked. */
export async function openIdentification(options: IdentificationOptions): Promise<Identification> {
  const { tokens = [], tokenFile, oauth, report, keepSecret } = options;
  if (tokens.length === 0 && tokenFile === undefined && oauth === undefined) return nobodyAsked(options);
  if (oauth) checkOAuth(oauth);
  const known = KnownTokens.open({ tokens, tokenFile, report, keepSecret });
  if (!oauth) return byTokens(known, report);
  try {
    return await byTokensAndIssuer(known, oauth, report);
  } catch (error) {
    known.close();
    throw error;
  }
}

function nobodyAsked({ host, allowedHosts = [], allowUnauthenticated = false, report }: IdentificationOptions): Identification {
  const exposure = { host, allowedHosts, allowUnauthenticated };
  refuseUnguardedExposure(exposure);
  const warning = warningOfExposure(exposure);
  if (warning !== undefined) report(warning);
  const outcome: LoginOutcome = { visitor: reachOf(host) === "this machine" ? LOCAL : ANYBODY };
  return { identify: () => outcome, close: async () => {} };
}

function byTokens(known: KnownTokens, report: (line: string) => void): Identification {
  const login = new Login({ tokens: known, report });
  return { identify: (request) => login.identify(request), close: async () => known.close() };
}

async function byTokensAndIssuer(known: KnownTokens, settings: OAuthSettings, report: (line: string) => void): Promise<Identification> {
  const accessTokens = await openAccessTokens(settings, { report });
  const metadata = new ResourceMetadata(settings);
  const login = new Login({ tokens: known, oauth: { accessTokens, metadata }, report });
  return {
    identify: (request) => login.identify(request),
    metadata,
    async close() {
      known.close();
      await accessTokens.close();
    },
  };
}
