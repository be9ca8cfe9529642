import type { IncomingMessage } from "node:http";
import type { Caller } from "../../../agent/caller.js";
import type { HttpRequest } from "../../../http/request.js";
import { invalidParams, RPC, RpcError } from "../../../jsonrpc/errors.js";
import { errorText, notificationText, type RequestMessage, resultText } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";
import { claimsVersion } from "../../revisions.js";
import type { StatelessRequest } from "../../stateless/request.js";
import { META, readClaim, STATELESS_RPC } from "../../stateless/request.js";
import type { StatelessServer } from "../../stateless/server.js";
import { acceptsEventStream } from "./clientKind.js";
import { type ArgumentHeaders, checkStatelessHeaders } from "./statelessHeaders.js";
import { type ReplyOptions, StatelessReply } from "./statelessReply.js";

export interface StatelessRules extends Pick<ReplyOptions, "streams" | "slowReaderMs" | "disconnected"> {
  readonly door: StatelessServer;
  readonly argumentHeaders: ArgumentHeaders;
  /** Notes what nobody foresaw, and returns what the client is told of it. */
  readonly failed: (method: string, error: unknown) => string;
}

export interface StatelessPost {
  readonly message: RequestMessage;
  readonly rules: StatelessRules;
}

/** A request without a session: its connection is all there is. When that closes, the request is cancelled. */
export async function postStateless(request: HttpRequest<Caller>, { message, rules }: StatelessPost): Promise<void> {
  const { incoming, response, headers } = request;
  const reply = new StatelessReply(response, { ...rules, headers, takesStream: acceptsEventStream(incoming) });
  let understood: StatelessRequest | undefined;
  try {
    understood = readRequest(incoming, { message, rules, reply, caller: request.caller });
    reply.answer({ text: resultText(message.id, await rules.door.answer(understood)), status: 200 });
  } catch (error) {
    const told = toRpcError(message.method, error, rules);
    reply.answer({ text: errorText(message.id, told), status: understood ? statusOf(told) : 400 });
  }
}

/** Throws what is wrong with the request as such, before any method looks at it. */
function readRequest(
  incoming: IncomingMessage,
  { message, rules, reply, caller }: StatelessPost & { readonly reply: StatelessReply; readonly caller: Caller },
): StatelessRequest {
  const { id, method, params } = message;
  if (!isFields(params) || !claimsVersion(params)) throw invalidParams(`\`_meta["${META.protocolVersion}"]\` is missing`);
  checkStatelessHeaders(incoming, { method, params }, rules.argumentHeaders);
  const peer = {
    notify: (name: string, told: unknown) => reply.say(notificationText(name, told)),
    notifyText: (text: string) => reply.say(text),
    congested: () => reply.congested(),
  };
  return { id, method, params, claim: readClaim(params), signal: reply.gone, caller, peer };
}

function toRpcError(method: string, error: unknown, { failed }: StatelessRules): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError(RPC.internalError, failed(method, error));
}

/** What a method says of its parameters is an answer like any other. */
function statusOf({ code }: RpcError): number {
  switch (code) {
    case RPC.methodNotFound:
      return 404;
    case RPC.busy:
      return 429;
    case STATELESS_RPC.missingCapability:
      return 400;
    default:
      return 200;
  }
}
