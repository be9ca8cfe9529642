import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Message } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";
import { HANDSHAKE_REVISIONS, STATELESS_REVISIONS } from "../../revisions.js";
import type { ClientKind } from "../network/httpSession.js";
import { HTTP_RPC, RpcProblem } from "../network/problems.js";

/** What kind of client the headers of one request speak of; what a session is taken for is `HttpConnection.kindOf`. */
export function clientKind({ headers }: IncomingMessage): ClientKind {
  if (headers["mcp-protocol-version"] !== undefined) return "spec";
  const { accept = "" } = headers;
  return accepts(accept, "application/json") && accepts(accept, "text/event-stream") ? "spec" : "plain";
}

/** A GET without `Accept`, or with one that takes anything, gets a stream as well. */
export function acceptsEventStream({ headers }: IncomingMessage): boolean {
  const { accept = "*/*" } = headers;
  return accepts(accept, "text/event-stream") || accepts(accept, "*/*") || accepts(accept, "text/*");
}

function accepts(accept: string, type: string): boolean {
  return accept.toLowerCase().includes(type);
}

/** How a POST is answered, when its request says so itself. */
export function askedPostStream({ headers }: IncomingMessage): boolean | undefined {
  const asked = headers["x-mcp-post-stream"];
  return asked === undefined ? undefined : asked !== "0";
}

/** A revision we do not speak is refused; one we speak is fine even if another was negotiated, since some clients name their newest. */
export function checkProtocolVersion({ headers }: IncomingMessage): void {
  const requested = headers["mcp-protocol-version"];
  if (requested === undefined || HANDSHAKE_REVISIONS.some((revision) => revision === requested)) return;
  throw new RpcProblem({
    status: 400,
    code: HTTP_RPC.versionNotServed,
    message: `Unsupported protocol version: ${String(requested).slice(0, 40)}. This server speaks ${HANDSHAKE_REVISIONS.join(", ")}.`,
    extra: { supported: HANDSHAKE_REVISIONS, requested },
  });
}

export function namesStatelessVersion({ headers }: IncomingMessage): boolean {
  return STATELESS_REVISIONS.some((served) => served === headers["mcp-protocol-version"]);
}

/** What was said, with the trace that the HTTP request belongs to in `_meta` of its requests. One that a request names itself is better known. */
export function withTraceHeaders(said: Message | readonly Message[], headers: IncomingHttpHeaders): Message | readonly Message[] {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== "string") return said;
  const trace = { traceparent, ...(typeof tracestate === "string" ? { tracestate } : {}) };
  return isBatch(said) ? said.map((message) => withTrace(message, trace)) : withTrace(said, trace);
}

function withTrace(message: Message, trace: Readonly<Record<string, string>>): Message {
  if (message.kind !== "request") return message;
  const params = message.params ?? {};
  if (!isFields(params)) return message;
  const meta = params["_meta"] ?? {};
  if (!isFields(meta) || meta["traceparent"] !== undefined) return message;
  return { ...message, params: { ...params, _meta: { ...meta, ...trace } } };
}

function isBatch(said: Message | readonly Message[]): said is readonly Message[] {
  return Array.isArray(said);
}
