import type { IncomingMessage } from "node:http";

/**
 * `spec`: follows MCP's transport to the letter, and must get nothing twice. `plain`: curl and the like, which take one JSON body per POST
 * and everything on each GET.
 */
export type ClientKind = "spec" | "plain";

export function clientKind({ headers }: IncomingMessage): ClientKind {
  if (headers["mcp-protocol-version"] !== undefined) return "spec";
  const { accept = "" } = headers;
  return accepts(accept, "application/json") && accepts(accept, "text/event-stream") ? "spec" : "plain";
}

/** A GET without `Accept`, or with one that takes anything, gets a stream as well. */
export function acceptsEventStream({ headers }: IncomingMessage): boolean {
  const { accept = "*/*" } = headers;
  return accepts(accept, "text/event-stream") || accepts(accept, "*/*") || accepts(accept, "text/*");
}

function accepts(accept: string, type: string): boolean {
  return accept.toLowerCase().includes(type);
}

/** How a POST is answered, when its request says so itself. */
export function askedPostStream({ headers }: IncomingMessage): boolean | undefined {
  const asked = headers["x-mcp-post-stream"];
  return asked === undefined ? undefined : asked !== "0";
}
