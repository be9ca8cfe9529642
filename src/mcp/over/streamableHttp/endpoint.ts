import type { IncomingMessage } from "node:http";
import type { Caller } from "../../../agent/caller.js";
import { beginEventStream, messageEvent, sendNothing } from "../../../http/answers.js";
import type { HttpMount } from "../../../http/router.js";
import { RPC } from "../../../jsonrpc/errors.js";
import { type Message, parseMessage, type RequestId } from "../../../jsonrpc/message.js";
import { claimsVersion, primesStreams, STATELESS_REVISIONS } from "../../revisions.js";
import { type ClientKind, findOrOpenSession, findSession, type HttpSession, namedSession } from "../network/httpSession.js";
import { type CallMark, callIn, type Exchange, lostAnswer, type Outbox } from "../network/outbox.js";
import { HTTP_RPC, RpcProblem, sessionOver } from "../network/problems.js";
import {
  acceptsEventStream,
  askedPostStream,
  checkProtocolVersion,
  clientKind,
  namesStatelessVersion,
  withTraceHeaders,
} from "./clientHeaders.js";
import type { EndpointRequest, EndpointRules } from "./endpointRequest.js";
import { type ExchangeOptions, JsonExchange, LazyExchange, openSse, type SseOptions, StreamExchange } from "./exchange.js";
import { postStateless } from "./statelessPost.js";

/** The path of the MCP endpoint. */
export const MCP_PATH = "/mcp";

/** The headers that browser pages may send to the endpoint, and read from its responses. */
export const MCP_CORS_HEADERS = {
  accepted: ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "x-mcp-post-stream"],
  exposed: ["mcp-session-id", "mcp-protocol-version"],
} as const;

/** The MCP endpoint: one URL with GET, POST and DELETE. */
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

/** Opens a stream of the session's messages: from now on, or from the client's last position. */
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

/**
 * Responds to a client that reconnects for a call that has ended, on a server that does not know it. Otherwise the client would wait for
 * its own timeout.
 */
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
  // The only status that tells compliant clients not to retry.
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

/** Accepts a message or a batch. The kind of response depends on the client (see docs/http.md). */
export async function post(request: EndpointRequest): Promise<void> {
  const { incoming, response, caller, rules } = request;
  const said = readable(parseMessage(await rules.bodies.read(incoming, caller.principal)));
  if (isStateless(said, incoming)) return postWithoutSession(request, said);
  if (!initializes(said)) checkProtocolVersion(incoming);
  const [seen, shakesHands] = [clientKind(incoming), initializes(said)];
  const open = findOrOpenSession(namedSession(incoming), { caller, begins: seen === "plain" || shakesHands, goesOn: !shakesHands }, rules);
  const kind = open.connection.kindOf(seen, { shakesHands });
  // `Object.assign` is measurably faster here than a spread.
  const headers = Object.assign({ "mcp-session-id": open.caller.sessionId }, request.headers);
  const ids = requestIds(said);
  refuseWhatCannotBeServed(said, { ids, open, headers });
  open.requests += ids.length;
  if (ids.length > 0) open.connection.outbox.expect(exchangeFor(request, { open, ids, headers, kind }));
  open.session.peer.receive(withTraceHeaders(said, incoming.headers));
  if (ids.length === 0) sendNothing(response, { status: kind === "spec" ? 202 : 204, headers });
}

type Said = Message | readonly Message[];

/** Decided by the body. The header alone means that the client omitted the version from `_meta`. */
function isStateless(said: Said, incoming: IncomingMessage): boolean {
  const claims = isBatch(said) ? said.some(namesItsVersion) : namesItsVersion(said);
  return claims || (namesStatelessVersion(incoming) && !initializes(said));
}

function namesItsVersion(message: Message): boolean {
  return "params" in message && claimsVersion(message.params);
}

function postWithoutSession(request: EndpointRequest, said: Said): Promise<void> | void {
  const message = withTraceHeaders(said, request.incoming.headers);
  if (isBatch(message) || (message.kind !== "request" && message.kind !== "notification"))
    throw new RpcProblem({
      status: 400,
      code: RPC.invalidRequest,
      message: `Invalid request: neither batches nor responses exist in ${STATELESS_REVISIONS.join(", ")}`,
    });
  // No notification can concern a request of another connection.
  if (message.kind === "notification") return sendNothing(request.response, { status: 202, headers: request.headers });
  return postStateless(request, { message, rules: request.rules.stateless });
}

function exchangeFor(
  { incoming, response }: EndpointRequest,
  { open, ids, headers, kind }: Pick<ExchangeOptions, "ids" | "headers"> & { open: HttpSession; kind: ClientKind },
): Exchange {
  const { outbox } = open.connection;
  const options = { ids, outbox, headers };
  const streams = askedPostStream(incoming);
  if (streams === true) return new StreamExchange(response, options);
  if (streams === false || kind === "plain") return new JsonExchange(response, options);
  return new LazyExchange(response, { ids, outbox, headers, primed: primesStreams(open.session.profile?.revision) });
}

function readable(said: Said): Said {
  if (isBatch(said) || said.kind !== "unreadable") return said;
  throw new RpcProblem({
    status: 400,
    code: said.problem === "not-json" ? RPC.parseError : RPC.invalidRequest,
    message: said.problem === "not-json" ? "Parse error: the body is not valid JSON" : `Invalid request: ${said.reason}`,
    id: said.answer?.id ?? null,
  });
}

function refuseWhatCannotBeServed(
  said: Said,
  { ids, open, headers }: Pick<ExchangeOptions, "ids" | "headers"> & { readonly open: HttpSession },
): void {
  const { session, connection } = open;
  const objection = !isBatch(said) ? undefined : said.length === 0 ? "an empty batch" : session.peer.batchObjection;
  if (objection !== undefined)
    throw new RpcProblem({ status: 400, code: RPC.invalidRequest, message: `Invalid request: ${objection}`, headers });
  const taken = ids.find((id, at) => connection.outbox.isExpected(id) || ids.indexOf(id) !== at);
  if (taken !== undefined)
    throw new RpcProblem({
      status: 200,
      code: RPC.invalidRequest,
      message: "a request with this id is already in flight",
      id: taken,
      headers,
    });
}

function initializes(said: Said): boolean {
  return !isBatch(said) && said.kind === "request" && said.method === "initialize";
}

function requestIds(said: Said): RequestId[] {
  if (!isBatch(said)) return said.kind === "request" ? [said.id] : [];
  return said.flatMap((message) => (message.kind === "request" ? [message.id] : []));
}

function isBatch(said: Said): said is readonly Message[] {
  return Array.isArray(said);
}
