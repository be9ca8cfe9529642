import type { IncomingMessage, ServerResponse } from "node:http";
import { HTTP_RPC, HttpRefusal } from "../../../http/answers.js";
import { openSse, type SseOptions } from "../../../http/sse.js";
import type { EndpointVisit, Visit } from "../../../http/visit.js";
import { acceptsEventStream, clientKind } from "./clientKind.js";
import { findOrOpenSession, namedSession } from "./findSession.js";
import type { Outbox } from "./outbox.js";
import { checkProtocolVersion } from "./version.js";

/** A stream of what the session says: from now on, or from where the client left. */
export function get(request: IncomingMessage, response: ServerResponse, visit: EndpointVisit): void {
  if (!acceptsEventStream(request))
    throw new HttpRefusal({ status: 406, code: HTTP_RPC.refused, message: "Not Acceptable: Accept must include text/event-stream" });
  checkProtocolVersion(request);
  const kind = clientKind(request);
  const open = findOrOpenSession(namedSession(request), { visitor: visit.visitor, kind, initializes: false }, visit.rules);
  const { outbox } = open.connection;
  const headers = { ...visit.headers, "mcp-session-id": open.caller.sessionId };
  if (outbox.streamCount >= visit.rules.maxStreamsPerSession)
    throw new HttpRefusal({
      status: 429,
      code: HTTP_RPC.refused,
      message: `This session has ${outbox.streamCount} streams open, which is its limit`,
      headers: { ...headers, "retry-after": "5" },
    });
  const left = request.headers["last-event-id"];
  const place =
    left === undefined ? newPlace(outbox, kind === "plain" ? "everything" : "shared") : placeLeft(outbox, String(left), headers);
  openSse(response, outbox, { ...place, headers, primed: open.session.profile?.revision === "2025-11-25" && kind === "spec" });
}

function newPlace(outbox: Outbox, kind: "everything" | "shared"): Pick<SseOptions, "kind" | "name"> {
  return { kind, name: outbox.names.next(kind) };
}

function placeLeft(outbox: Outbox, eventId: string, headers: Visit["headers"]): Pick<SseOptions, "kind" | "name" | "after"> {
  const place = outbox.placeOf(eventId);
  if (!place)
    throw new HttpRefusal({ status: 400, code: HTTP_RPC.refused, message: "Last-Event-ID is not an id of this session", headers });
  const { kind, name, seq } = place;
  // The one status that tells clients of the specification not to try again.
  if (kind === "own" && !outbox.hasMoreFor(name, seq))
    throw new HttpRefusal({
      status: 405,
      code: HTTP_RPC.refused,
      message: "Nothing is left to send about this request",
      headers: { ...headers, allow: "GET, POST, DELETE, OPTIONS" },
    });
  return { kind, name, after: seq };
}
