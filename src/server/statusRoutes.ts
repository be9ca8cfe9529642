import type { ServerResponse } from "node:http";
import type { Caller } from "../agent/caller.js";
import { callersInside, hasScope } from "../agent/caller.js";
import { ScopeMissing } from "../agent/errors.js";
import { sendJson } from "../http/answers.js";
import { HttpProblem } from "../http/problem.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpHandler, HttpMount } from "../http/router.js";
import type { HttpSession, HttpSessions } from "../mcp/over/network/httpSession.js";

/** Paths without authentication: they reveal only that the server is alive. */
export const OPEN_PATHS = ["/healthz", "/readyz"] as const;

export interface StatusOptions {
  readonly sessions: HttpSessions;
  /** False once the server is shutting down. */
  readonly ready: () => boolean;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The state of the server: for probes, for Prometheus, and for a list of sessions. */
export function statusRoutes({ sessions, ready, metrics }: StatusOptions): readonly HttpMount<Caller>[] {
  return [
    page("/healthz", ({ response, headers }) => sendJson(response, '{"status":"ok"}', { status: 200, headers })),
    page("/readyz", ({ response, headers }) =>
      sendJson(response, ready() ? '{"status":"ready"}' : '{"status":"shutting down"}', { status: ready() ? 200 : 503, headers }),
    ),
    page(
      "/metrics",
      reading(({ response, headers }) => sendMetrics(response, { headers, metrics })),
    ),
    page(
      "/sessions",
      reading(({ response, headers, caller }) => {
        const seen = [...sessions.all()].filter(
          ({ caller: { principal } }) => hasScope(caller, "operator") || principal === caller.principal,
        );
        sendJson(response, JSON.stringify({ sessions: seen.map(describeSession) }), { status: 200, headers });
      }),
    ),
  ];
}

function page(path: string, answer: HttpHandler<Caller>): HttpMount<Caller> {
  return { path, methods: { GET: answer, HEAD: answer } };
}

/** Requires the scope `read`, and a caller outside of all turns. */
function reading(answer: HttpHandler<Caller>): HttpHandler<Caller> {
  return (request) => {
    const why = callersInside(request.caller);
    if (why !== undefined) throw new HttpProblem(403, why);
    if (!hasScope(request.caller, "read")) throw new HttpProblem(403, new ScopeMissing("read").message);
    return answer({ ...request, headers: { ...PERSONAL, ...request.headers } });
  };
}

/** Not for caches. Text of callers, such as names of models and clients, must not be taken for a page or a script. */
const PERSONAL = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

async function sendMetrics(
  response: ServerResponse,
  { headers, metrics }: Pick<HttpRequest<Caller>, "headers"> & Pick<StatusOptions, "metrics">,
): Promise<void> {
  const { contentType, text } = await metrics();
  response.writeHead(200, { ...headers, "content-type": contentType }).end(text);
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
    streams: outbox.streams.count,
    messages: { ...outbox.counts, keptBytes: outbox.keptBytes },
  };
}
