import type { Caller } from "../../../agent/caller.js";
import { sendNothing } from "../../../http/answers.js";
import type { HttpMount } from "../../../http/router.js";
import { findSession, namedSession } from "../network/findSession.js";
import { HTTP_RPC, RpcProblem, sessionOver } from "../network/problems.js";
import type { EndpointRequest, EndpointRules } from "./endpointRequest.js";
import { get } from "./get.js";
import { post } from "./post.js";

/** Where MCP is served. */
export const MCP_PATH = "/mcp";

/** What pages in browsers send to the endpoint, and may read of its answers. */
export const MCP_CORS_HEADERS = {
  accepted: ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "x-mcp-post-stream"],
  exposed: ["mcp-session-id", "mcp-protocol-version"],
} as const;

/** The MCP endpoint: one URL, a verb for each thing a client can do. */
export function mcpEndpoint(rules: EndpointRules): Pick<HttpMount<Caller>, "path" | "aliases" | "methods"> {
  return {
    path: MCP_PATH,
    aliases: ["/"],
    methods: {
      GET: (request) => get({ ...request, rules }),
      POST: (request) => post({ ...request, rules }),
      DELETE: (request) => end({ ...request, rules }),
    },
  };
}

function end({ incoming, response, caller, rules, headers }: EndpointRequest): void {
  const id = namedSession(incoming);
  if (id === undefined) throw new RpcProblem({ status: 400, code: HTTP_RPC.refused, message: "DELETE needs an mcp-session-id header" });
  const open = findSession(id, caller, rules.sessions);
  if (!open) throw sessionOver();
  rules.sessions.end(open, "its client ended it");
  sendNothing(response, { status: 204, headers });
}
