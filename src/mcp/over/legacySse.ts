import type { IncomingMessage, ServerResponse } from "node:http";
import { HTTP_RPC, HttpRefusal, SESSION_OVER, sendNothing } from "../../http/answers.js";
import { readBody } from "../../http/body.js";
import type { Route } from "../../http/server.js";
import { EVENT_STREAM_HEADERS } from "../../http/sse.js";
import type { EndpointRules, Visit } from "../../http/visit.js";
import { parseMessage } from "../../jsonrpc/message.js";
import { checkedSessionId, findOrOpenSession, findSession } from "./streamableHttp/findSession.js";
import type { HttpSession } from "./streamableHttp/httpSession.js";
import type { Carrier } from "./streamableHttp/stream.js";

/**
 * The transport that MCP had before 2025-03-26, for clients that know no other: `GET /sse` is the session and says where to POST;
 * answers come on the stream, and the session ends with it.
 */
export function legacySseRoutes(rules: EndpointRules): Readonly<Record<string, Route>> {
  return {
    "/sse": (request, response, visit) => openStream(request, response, { ...visit, rules }),
    "/messages": (request, response, visit) => takeMessage(request, response, { ...visit, rules }),
  };
}

function openStream(
  request: IncomingMessage,
  response: ServerResponse,
  { visitor, headers, rules }: Visit & { rules: EndpointRules },
): void {
  if (request.method !== "GET")
    throw new HttpRefusal({ status: 405, code: HTTP_RPC.refused, message: "Open the stream with GET", headers: { allow: "GET" } });
  const open = findOrOpenSession(undefined, { visitor, kind: "plain", initializes: true, transport: "sse" }, rules);
  response.writeHead(200, { ...EVENT_STREAM_HEADERS, ...headers });
  response.write(`event: endpoint\ndata: /messages?sessionId=${open.caller.sessionId}\n\n`);
  const { outbox } = open.connection;
  const stream = outbox.attach({ name: "a", kind: "everything", carrier: bareCarrier(response) });
  response.on("drain", () => outbox.drained(stream));
  response.once("close", () => rules.sessions.end(open, "its stream was closed"));
}

async function takeMessage(
  request: IncomingMessage,
  response: ServerResponse,
  { visitor, headers, rules }: Visit & { rules: EndpointRules },
): Promise<void> {
  if (request.method !== "POST")
    throw new HttpRefusal({ status: 405, code: HTTP_RPC.refused, message: "Send messages with POST", headers: { allow: "POST" } });
  const said = parseMessage(await readBody(request, { maxBytes: rules.maxBodyBytes }));
  const id = new URLSearchParams(request.url?.split("?")[1] ?? "").get("sessionId");
  const open: HttpSession | undefined = id === null ? undefined : findSession(checkedSessionId(id), visitor, rules.sessions);
  if (open?.connection.transport !== "sse") throw new HttpRefusal(SESSION_OVER);
  open.requests++;
  open.session.peer.receive(said);
  sendNothing(response, { status: 202, headers });
}

/** Event ids came later than this transport. */
function bareCarrier(response: ServerResponse): Carrier {
  return {
    write: (messages) => response.write(messages.map(({ text }) => `event: message\ndata: ${text}\n\n`).join("")),
    keepAlive: () => void response.write(":\n\n"),
    end: (how) => void (how === "politely" ? response.end() : response.destroy()),
  };
}
