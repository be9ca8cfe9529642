import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Message } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";
import { HANDSHAKE_REVISIONS, STATELESS_REVISIONS } from "../../revisions.js";
import type { ClientKind } from "../network/httpSession.js";
import { HTTP_RPC, RpcProblem } from "../network/problems.js";

/** The client kind that the headers of one request indicate. `HttpConnection.kindOf` decides it for the session. */
export function clientKind({ headers }: IncomingMessage): ClientKind {
  if (headers["mcp-protocol-version"] !== undefined) return "spec";
  const { accept = "" } = headers;
  return accepts(accept, "application/json") && accepts(accept, "text/event-stream") ? "spec" : "plain";
}

/** A GET without `Accept`, or with a wildcard, gets a stream too. */
export function acceptsEventStream({ headers }: IncomingMessage): boolean {
  const { accept = "*/*" } = headers;
  return accepts(accept, "text/event-stream") || accepts(accept, "*/*") || accepts(accept, "text/*");
}

function accepts(accept: string, type: string): boolean {
  return accept.toLowerCase().includes(type);
}

/** Whether the request itself asks for a stream or a JSON body; undefined if it does not say. */
export function askedPostStream({ headers }: IncomingMessage): boolean | undefined {
  const asked = headers["x-mcp-post-stream"];
  return asked === undefined ? undefined : asked !== "0";
}

/** Refuses unsupported revisions. A supported one is accepted even if another was negotiated, because some clients send their newest. */
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

/** Copies the trace headers of the HTTP request into `_meta` of its JSON-RPC requests. A trace in `_meta` itself takes precedence. */
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
