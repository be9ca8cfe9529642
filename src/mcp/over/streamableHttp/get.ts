import { primesStreams } from "../../revisions.js";
import { findOrOpenSession, namedSession } from "../network/findSession.js";
import type { Outbox } from "../network/outbox.js";
import { HTTP_RPC, RpcProblem } from "../network/problems.js";
import { openSse, type SseOptions } from "../network/sseStream.js";
import { acceptsEventStream, clientKind } from "./clientKind.js";
import type { EndpointRequest } from "./endpointRequest.js";
import { checkProtocolVersion } from "./version.js";

/** A stream of what the session says: from now on, or from where the client left. */
export function get(request: EndpointRequest): void {
  const { incoming, response, caller, rules } = request;
  if (!acceptsEventStream(incoming))
    throw new RpcProblem({ status: 406, code: HTTP_RPC.refused, message: "Not Acceptable: Accept must include text/event-stream" });
  checkProtocolVersion(incoming);
  const kind = clientKind(incoming);
  const open = findOrOpenSession(namedSession(incoming), { caller, begins: kind === "plain" }, rules);
  const { outbox } = open.connection;
  const headers = { ...request.headers, "mcp-session-id": open.caller.sessionId };
  if (outbox.streams.count >= rules.maxStreamsPerSession)
    throw new RpcProblem({
      status: 429,
      code: HTTP_RPC.refused,
      message: `This session has ${outbox.streams.count} streams open, which is its limit`,
      headers: { ...headers, "retry-after": "5" },
    });
  const left = incoming.headers["last-event-id"];
  const place =
    left === undefined ? newPlace(outbox, kind === "plain" ? "everything" : "shared") : placeLeft(outbox, String(left), headers);
  openSse(response, outbox, { ...place, headers, primed: kind === "spec" && primesStreams(open.session.profile?.revision) });
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
