import type { Caller } from "../../agent/caller.js";
import { beginEventStream, sendNothing } from "../../http/answers.js";
import type { RequestBodies } from "../../http/body.js";
import type { HttpRequest } from "../../http/request.js";
import type { HttpMount } from "../../http/router.js";
import { parseMessage } from "../../jsonrpc/message.js";
import { checkedSessionId, findOrOpenSession, findSession, type SessionRules } from "./network/httpSession.js";
import { sessionOver } from "./network/problems.js";
import { SseSink } from "./streamableHttp/exchange.js";

const MESSAGES_PATH = "/messages";

export interface LegacySseRules extends SessionRules {
  readonly bodies: RequestBodies;
}

/**
 * The MCP transport from before 2025-03-26, for clients that support no other. `GET /sse` opens the session and returns the URL to POST to.
 * Responses arrive on the stream, and the session ends with it.
 */
export function legacySse(rules: LegacySseRules): readonly HttpMount<Caller>[] {
  return [
    { path: "/sse", methods: { GET: (request) => openStream(request, rules) } },
    { path: MESSAGES_PATH, methods: { POST: (request) => takeMessage(request, rules) } },
  ];
}

function openStream({ response, caller, headers }: HttpRequest<Caller>, rules: LegacySseRules): void {
  const open = findOrOpenSession(undefined, { caller, begins: true, transport: "sse" }, rules);
  beginEventStream(response, headers);
  response.write(`event: endpoint\ndata: ${MESSAGES_PATH}?sessionId=${open.caller.sessionId}\n\n`);
  const { outbox } = open.connection;
  // This transport predates event ids.
  const stream = outbox.streams.attach({ name: outbox.names.next("everything"), kind: "everything", sink: new SseSink(response) });
  response.on("drain", () => outbox.streams.drained(stream));
  response.once("close", () => rules.sessions.end(open, "its stream was closed"));
}

async function takeMessage({ incoming, response, caller, headers }: HttpRequest<Caller>, rules: LegacySseRules): Promise<void> {
  const said = parseMessage(await rules.bodies.read(incoming, caller.principal));
  const id = new URLSearchParams(incoming.url?.split("?")[1] ?? "").get("sessionId");
  const open = id === null ? undefined : findSession(checkedSessionId(id), caller, rules.sessions);
  if (open?.connection.transport !== "sse") throw sessionOver();
  open.requests++;
  open.session.peer.receive(said);
  sendNothing(response, { status: 202, headers });
}
