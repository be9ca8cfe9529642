import { UnguardedExposure } from "./errors.js";
import { reachOf } from "./hostName.js";

export interface Exposure {
  /** What the server binds to. */
  readonly host: string;
  /** Other names it answers to. */
  readonly allowedHosts: readonly string[];
  /** Whoever is on this machine comes in unasked. */
  readonly allowUnauthenticated: boolean;
}

/** Whoever reaches the server can make this machine work, so other machines come in with a token only. */
export function refuseUnguardedExposure({ host }: Exposure): void {
  if (reachOf(host) === "this machine") return;
  throw new UnguardedExposure(
    `other machines could reach ${host || "this server"} and use the agent without a token; set CODEX_MCP_TOKEN, --token-file or ` +
      "--oauth-issuer",
  );
}

/** What the operator should know of a server that asks nobody for a token. */
export function warningOfExposure({ allowedHosts, allowUnauthenticated }: Exposure): string | undefined {
  if (allowUnauthenticated)
    return "every user of this machine, and whatever forwards requests to it, may use the agent: no token is asked for";
  if (allowedHosts.length === 0) return undefined;
  return `requests for ${allowedHosts.join(", ")} need no token unless they say that they were forwarded: a proxy that does not let them say it lets everybody in`;
}
