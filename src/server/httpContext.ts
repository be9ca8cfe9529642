import type { ExaminedPart } from "../api/base/apiParts.js";
import type { SandboxMode } from "../exec/policies.js";
import type { OAuthSettings } from "../http/access/oauth/oauthSettings.js";
import type { ServerContext } from "./context.js";

/** How a server that listens is reached, by whom, and how far they may go. */
export interface ListenOptions {
  readonly host: string;
  /** In order; the first that is free is taken. */
  readonly ports: readonly number[];
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly tokens: readonly string[];
  /** Some of them are in the list of processes, for every user of the machine to read. */
  readonly showsTokens: boolean;
  readonly tokenFile?: string;
  readonly allowUnauthenticated: boolean;
  readonly trustedProxies: readonly string[];
  readonly oauth?: OAuthSettings;
  readonly maxSandbox?: SandboxMode;
  readonly allowRoots: readonly string[];
  readonly readRoots: readonly string[];
  readonly allowConfig: readonly string[];
}

/** Whether more than one principal may come: a file of tokens may name another one at any time, and an issuer knows many. */
export function severalMayCall({ tokens, tokenFile, oauth }: Pick<ListenOptions, "tokens" | "tokenFile" | "oauth">): boolean {
  return tokenFile !== undefined || oauth !== undefined || new Set(tokens).size > 1;
}

export interface HttpContext extends ServerContext {
  readonly listen: ListenOptions;
  /** Told once the server listens: the console's address, with a one-time code. */
  readonly consoleServed?: ((address: string) => void) | undefined;
  /** What `doctor` says of this server. */
  readonly examine?: () => Promise<readonly ExaminedPart[]>;
}
