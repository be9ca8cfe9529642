import type { IncomingMessage, ServerResponse } from "node:http";
import { HTTP_RPC, HttpRefusal, SESSION_OVER, sendNothing } from "../../../http/answers.js";
import type { EndpointVisit } from "../../../http/visit.js";
import { findSession, namedSession } from "./findSession.js";
import { get } from "./get.js";
import { post } from "./post.js";

const ALLOW = "GET, POST, DELETE, OPTIONS";

/** The MCP endpoint: one URL, a verb for each thing a client can do. Throws `HttpRefusal`. */
export function visitEndpoint(request: IncomingMessage, response: ServerResponse, visit: EndpointVisit): void | Promise<void> {
  switch (request.method) {
    case "POST":
      return post(request, response, visit);
    case "GET":
      return get(request, response, visit);
    case "DELETE":
      return end(request, response, visit);
    case "OPTIONS":
      return sendNothing(response, { status: 204, headers: { ...visit.headers, allow: ALLOW } });
    default:
      throw new HttpRefusal({
        status: 405,
        code: HTTP_RPC.refused,
        message: `${request.method} is not a method of MCP`,
        headers: { allow: ALLOW },
      });
  }
}

function end(request: IncomingMessage, response: ServerResponse, { visitor, rules, headers }: EndpointVisit): void {
  const id = namedSession(request);
  if (id === undefined) throw new HttpRefusal({ status: 400, code: HTTP_RPC.refused, message: "DELETE needs an mcp-session-id header" });
  const open = findSession(id, visitor, rules.sessions);
  if (!open) throw new HttpRefusal(SESSION_OVER);
  rules.sessions.end(open, "its client ended it");
  sendNothing(response, { status: 204, headers });
}
