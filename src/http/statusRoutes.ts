import type { ServerResponse } from "node:http";
import { hasScope, ScopeMissing } from "../agent/scopes.js";
import type { HttpSession, HttpSessions } from "../mcp/over/streamableHttp/httpSession.js";
import { HTTP_RPC, HttpRefusal, sendJson } from "./answers.js";
import type { Route } from "./server.js";

/** Pages that anybody may read: they say nothing but that the server lives. */
export const OPEN_PATHS = ["/healthz", "/readyz"] as const;

export interface StatusOptions {
  readonly sessions: HttpSessions;
  /** False once the server is on its way out. */
  readonly ready: () => boolean;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** How the server is doing: for probes, for Prometheus, and for whoever wants to see the sessions. */
export function statusRoutes({ sessions, ready, metrics }: StatusOptions): Readonly<Record<string, Route>> {
  return {
    "/healthz": open((response, { headers }) => sendJson(response, '{"status":"ok"}', { status: 200, headers })),
    "/readyz": open((response, { headers }) =>
      sendJson(response, ready() ? '{"status":"ready"}' : '{"status":"shutting down"}', { status: ready() ? 200 : 503, headers }),
    ),
    "/metrics": reading(async (response, { headers }) => {
      const { contentType, text } = await metrics();
      response.writeHead(200, { ...headers, "content-type": contentType }).end(text);
    }),
    "/sessions": reading((response, { headers, visitor }) => {
      const seen = [...sessions.all()].filter(({ caller }) => hasScope(visitor, "operator") || caller.principal === visitor.principal);
      sendJson(response, JSON.stringify({ sessions: seen.map(describeSession) }), { status: 200, headers });
    }),
  };
}

/** For whoever may watch. */
function reading(answer: Parameters<typeof open>[0]): Route {
  return open((response, visit) => {
    if (!hasScope(visit.visitor, "read"))
      throw new HttpRefusal({ status: 403, code: HTTP_RPC.refused, message: new ScopeMissing("read").message });
    return answer(response, visit);
  });
}

function open(answer: (response: ServerResponse, visit: Parameters<Route>[2]) => void | Promise<void>): Route {
  return (request, response, visit) => {
    if (request.method === "GET" || request.method === "HEAD") return answer(response, visit);
    return void response.writeHead(405, { ...visit.headers, allow: "GET, HEAD" }).end();
  };
}

function describeSession({ caller, session, connection, openedAt, lastUsedAt, requests }: HttpSession): unknown {
  const { outbox, transport } = connection;
  const { profile } = session;
  return {
    id: caller.sessionId,
    principal: caller.principal,
    transport,
    client: profile && { name: profile.name, version: profile.version, protocolVersion: profile.revision },
    openedAt: new Date(openedAt).toISOString(),
    lastUsedAt: new Date(lastUsedAt).toISOString(),
    requests,
    running: session.peer.servingCount,
    streams: outbox.streamCount,
    messages: { ...outbox.counts, keptBytes: outbox.keptBytes },
  };
}
