import { UnguardedExposure } from "./errors.js";
import { reachOf } from "./hostName.js";

export interface Exposure {
  /** What the server binds to. */
  readonly host: string;
  /** Other names it answers to. */
  readonly allowedHosts: readonly string[];
  /** Other machines may come in unasked. */
  readonly allowUnauthenticated: boolean;
}

/** Whoever reaches the server can make this machine work, so other machines come in with a token only, or by an explicit choice. */
export function refuseUnguardedExposure({ host, allowUnauthenticated }: Exposure): void {
  if (allowUnauthenticated || reachOf(host) === "this machine") return;
  throw new UnguardedExposure(
    `other machines could reach ${host || "this server"} and use the agent without a token; set CODEX_MCP_TOKEN, --token-file or ` +
      "--oauth-issuer, or say --allow-unauthenticated if that is what you want",
  );
}

/** What the operator should know of a server that asks nobody for a token. */
export function warningOfExposure({ host, allowedHosts }: Exposure): string | undefined {
  if (reachOf(host) !== "this machine") return "anybody who can reach this server may use the agent: no token is asked for";
  if (allowedHosts.length === 0) return undefined;
  return `requests for ${allowedHosts.join(", ")} need no token: whatever forwards them to this server lets everybody in`;
}
