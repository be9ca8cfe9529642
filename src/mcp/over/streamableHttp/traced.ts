import type { IncomingHttpHeaders } from "node:http";
import type { Message } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";

/** What was said, with the trace that the HTTP request belongs to in `_meta` of its requests. One that a request names itself is better known. */
export function traced(said: Message | readonly Message[], headers: IncomingHttpHeaders): Message | readonly Message[] {
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
