import type { ExaminedPart } from "../api/base/apiParts.js";
import type { SandboxMode } from "../exec/policies.js";
import type { OAuthSettings } from "../http/access/oauth/oauthSettings.js";
import type { ServerContext } from "./context.js";

/** The options of a listening server: its address, its clients and their limits. */
export interface ListenOptions {
  readonly host: string;
  /** In order: the first free one is used. */
  readonly ports: readonly number[];
  readonly allowedHosts: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly tokens: readonly string[];
  /** Some tokens are on the command line, which every user of the machine can read. */
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

/** Whether more than one principal may call: a token file may add another at any time, and an issuer has many. */
export function severalMayCall({ tokens, tokenFile, oauth }: Pick<ListenOptions, "tokens" | "tokenFile" | "oauth">): boolean {
  return tokenFile !== undefined || oauth !== undefined || new Set(tokens).size > 1;
}

export interface HttpContext extends ServerContext {
  readonly listen: ListenOptions;
  /** Called once the server listens, with the console's URL and a one-time code. */
  readonly consoleServed?: ((address: string) => void) | undefined;
  /** The findings of `doctor` for this server. */
  readonly examine?: () => Promise<readonly ExaminedPart[]>;
}
