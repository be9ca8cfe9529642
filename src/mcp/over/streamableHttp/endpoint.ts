import type { Caller } from "../../../agent/caller.js";
import { beginEventStream, messageEvent, sendNothing } from "../../../http/answers.js";
import type { HttpMount } from "../../../http/router.js";
import { primesStreams } from "../../revisions.js";
import { type CallMark, callIn, lostAnswer } from "../network/callMarks.js";
import { findOrOpenSession, findSession, namedSession } from "../network/httpSession.js";
import type { Outbox } from "../network/outbox.js";
import { HTTP_RPC, RpcProblem, sessionOver } from "../network/problems.js";
import { openSse, type SseOptions } from "../network/sseStream.js";
import { acceptsEventStream, checkProtocolVersion, clientKind } from "./clientHeaders.js";
import type { EndpointRequest, EndpointRules } from "./endpointRequest.js";
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

/** A stream of what the session says: from now on, or from where the client left. */
function get(request: EndpointRequest): void {
  const { incoming, response, caller, rules } = request;
  if (!acceptsEventStream(incoming))
    throw new RpcProblem({ status: 406, code: HTTP_RPC.refused, message: "Not Acceptable: Accept must include text/event-stream" });
  checkProtocolVersion(incoming);
  const seen = clientKind(incoming);
  const left = incoming.headers["last-event-id"];
  const id = namedSession(incoming);
  const lost = left === undefined || id === undefined || findSession(id, caller, rules.sessions) ? undefined : callIn(String(left));
  if (lost) return answerLost(request, lost);
  const open = findOrOpenSession(id, { caller, begins: seen === "plain" && left === undefined }, rules);
  const kind = open.connection.kindOf(seen, { shakesHands: false });
  const { outbox } = open.connection;
  const headers = { ...request.headers, "mcp-session-id": open.caller.sessionId };
  if (outbox.streams.count >= rules.maxStreamsPerSession)
    throw new RpcProblem({
      status: 429,
      code: HTTP_RPC.refused,
      message: `This session has ${outbox.streams.count} streams open, which is its limit`,
      headers: { ...headers, "retry-after": "5" },
    });
  const place =
    left === undefined ? newPlace(outbox, kind === "plain" ? "everything" : "shared") : placeLeft(outbox, String(left), headers);
  openSse(response, outbox, { ...place, headers, primed: kind === "spec" && primesStreams(open.session.profile?.revision) });
}

/** Whoever comes back for a call that is over, to a server that does not know it, would otherwise wait until their own patience ends. */
function answerLost({ response, headers }: EndpointRequest, lost: CallMark): void {
  beginEventStream(response, headers);
  response.end(messageEvent(lostAnswer(lost)));
}

function newPlace(outbox: Outbox, kind: "everything" | "shared"): Pick<SseOptions, "kind" | "name"> {
  return { kind, name: outbox.names.next(kind) };
}

function placeLeft(outbox: Outbox, eventId: string, headers: EndpointRequest["headers"]): Pick<SseOptions, "kind" | "name" | "after"> {
  const place = outbox.placeOf(eventId);
  if (!place) throw new RpcProblem({ status: 400, code: HTTP_RPC.refused, message: "Last-Event-ID is not an id of this session", headers });
  const { kind, name, seq } = place;
  // The one status that tells clients of the specification not to try again.
  if (kind === "own" && !outbox.hasMoreFor(name, seq))
    throw new RpcProblem({
      status: 405,
      code: HTTP_RPC.refused,
      message: "Nothing is left to send about this request",
      headers: { ...headers, allow: "GET, POST, DELETE, OPTIONS" },
    });
  return { kind, name, after: seq };
}

function end({ incoming, response, caller, rules, headers }: EndpointRequest): void {
  const id = namedSession(incoming);
  if (id === undefined) throw new RpcProblem({ status: 400, code: HTTP_RPC.refused, message: "DELETE needs an mcp-session-id header" });
  const open = findSession(id, caller, rules.sessions);
  if (!open) throw sessionOver();
  rules.sessions.end(open, "its client ended it");
  sendNothing(response, { status: 204, headers });
}
