import type { IncomingMessage } from "node:http";

/** What proxies and tunnels say of the clients they speak for; besides, everything that begins with `x-forwarded`. */
const NAMES = ["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"] as const;
const FAMILY = "x-forwarded";

/** Whether somebody else than the one who connects has sent this. Whose process has made the connection says nothing then. */
export function isForwarded({ headers }: IncomingMessage): boolean {
  if (NAMES.some((name) => headers[name] !== undefined)) return true;
  for (const name in headers) if (name.startsWith(FAMILY)) return true;
  return false;
}
