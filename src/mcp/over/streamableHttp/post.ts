import type { IncomingMessage } from "node:http";
import { sendNothing } from "../../../http/answers.js";
import { readBody } from "../../../http/body.js";
import { RPC } from "../../../jsonrpc/errors.js";
import { type Message, parseMessage, type RequestId } from "../../../jsonrpc/message.js";
import { claimsVersion, primesStreams, STATELESS_REVISIONS } from "../../revisions.js";
import type { ClientKind, HttpSession } from "../network/httpSession.js";
import { findOrOpenSession, namedSession } from "../network/httpSession.js";
import type { Exchange } from "../network/outbox.js";
import { RpcProblem } from "../network/problems.js";
import { askedPostStream, checkProtocolVersion, clientKind, namesStatelessVersion, withTraceHeaders } from "./clientHeaders.js";
import type { EndpointRequest } from "./endpointRequest.js";
import { type ExchangeOptions, JsonExchange, LazyExchange, StreamExchange } from "./exchange.js";
import { postStateless } from "./statelessPost.js";

/** A message, or a batch of them, in; what it is answered with depends on who sends it (see docs/http.md). */
export async function post(request: EndpointRequest): Promise<void> {
  const { incoming, response, caller, rules } = request;
  const said = readable(parseMessage(await readBody(incoming, { maxBytes: rules.maxBodyBytes })));
  if (isStateless(said, incoming)) return postWithoutSession(request, said);
  if (!initializes(said)) checkProtocolVersion(incoming);
  const [seen, shakesHands] = [clientKind(incoming), initializes(said)];
  const open = findOrOpenSession(namedSession(incoming), { caller, begins: seen === "plain" || shakesHands, goesOn: !shakesHands }, rules);
  const kind = open.connection.kindOf(seen, { shakesHands });
  // A spread would be slower by more than all else that is done with headers.
  const headers = Object.assign({ "mcp-session-id": open.caller.sessionId }, request.headers);
  const ids = requestIds(said);
  refuseWhatCannotBeServed(said, { ids, open, headers });
  open.requests += ids.length;
  if (ids.length > 0) open.connection.outbox.expect(exchangeFor(request, { open, ids, headers, kind }));
  open.session.peer.receive(withTraceHeaders(said, incoming.headers));
  if (ids.length === 0) sendNothing(response, { status: kind === "spec" ? 202 : 204, headers });
}

type Said = Message | readonly Message[];

/** By what is said itself; the header alone is of somebody who forgot to. */
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
  // Nothing a client could notify of concerns a request of another connection.
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
    code: said.problem === "not JSON" ? RPC.parseError : RPC.invalidRequest,
    message: said.problem === "not JSON" ? "Parse error: the body is not valid JSON" : `Invalid request: ${said.reason}`,
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
