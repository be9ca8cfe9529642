import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../../agent/caller.js";
import { beginEventStream, KEEP_ALIVE, messageEvent } from "../../../http/answers.js";
import { SlowRequests } from "../../../http/connections.js";
import type { HttpRequest } from "../../../http/request.js";
import { invalidParams, RPC, RpcError } from "../../../jsonrpc/errors.js";
import { errorText, notificationText, type RequestMessage, resultText } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";
import { deferred } from "../../../lib/promises.js";
import { claimsVersion } from "../../revisions.js";
import { META, readClaim, STATELESS_RPC, type StatelessRequest } from "../../stateless/request.js";
import type { StatelessServer } from "../../stateless/server.js";
import { acceptsEventStream } from "./clientHeaders.js";
import { PostReply } from "./exchange.js";
import { type ArgumentHeaders, checkStatelessHeaders } from "./statelessHeaders.js";

export interface StatelessRules extends Pick<ReplyOptions, "streams" | "slowReaderMs" | "disconnected"> {
  readonly server: StatelessServer;
  readonly argumentHeaders: ArgumentHeaders;
  /** Logs an unexpected error, and returns the message for the client. */
  readonly failed: (method: string, error: unknown) => string;
}

export interface StatelessPost {
  readonly message: RequestMessage;
  readonly rules: StatelessRules;
}

/** Serves a request without a session. The request is cancelled when its connection closes. */
export async function postStateless(request: HttpRequest<Caller>, { message, rules }: StatelessPost): Promise<void> {
  const { incoming, response, headers } = request;
  const reply = new StatelessReply(response, { ...rules, headers, takesStream: acceptsEventStream(incoming) });
  let understood: StatelessRequest | undefined;
  try {
    understood = readRequest(incoming, { message, rules, reply, caller: request.caller });
    reply.answer({ text: resultText(message.id, await rules.server.answer(understood)), status: 200 });
  } catch (error) {
    const told = toRpcError(message.method, error, rules);
    reply.answer({ text: errorText(message.id, told), status: understood ? statusOf(told) : 400 });
  }
}

/** Throws the error of an invalid request before any method handles it. */
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

/** Invalid parameters are a normal response with status 200. */
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

/** A client without response headers times out after minutes; a client with headers can be sent keep-alives. */
const slowPosts = new SlowRequests(5_000);

export interface ReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the client's `Accept` allows a stream. */
  readonly takesStream: boolean;
  /** The open streams, for keep-alives. */
  readonly streams: Set<StatelessReply>;
  /** How long a client may leave its stream unread. */
  readonly slowReaderMs: number;
  /** Called for every client that was disconnected for not reading. */
  readonly disconnected: () => void;
}

/** The response to a stateless request. If its connection closes first, the request is cancelled. */
export class StatelessReply extends PostReply {
  readonly #gone = new AbortController();
  readonly #options: ReplyOptions;

  constructor(response: ServerResponse, options: ReplyOptions) {
    super(response, { headers: options.headers, clock: slowPosts });
    this.#options = options;
    response.once("close", () => {
      options.streams.delete(this);
      if (this.state === "answered") return;
      this.become("gone");
      this.#gone.abort(new Error("the client closed the connection"));
    });
  }

  /** Aborts when the client disconnects before the response. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** A client that accepts no stream gets only the result. */
  say(text: string): void {
    this.becomeStream();
    if (this.state === "streaming") this.response.write(messageEvent(text));
  }

  keepAlive(): void {
    if (!this.response.writableNeedDrain) this.response.write(KEEP_ALIVE);
  }

  override becomeStream(): void {
    if (this.#options.takesStream) super.becomeStream();
  }

  /** A promise while the client does not keep up. A client that stays behind is disconnected. */
  congested(): Promise<void> | undefined {
    if (this.state === "answered" || this.state === "gone" || !this.response.writableNeedDrain) return undefined;
    const relieved = deferred<void>();
    const overdue = setTimeout(() => {
      this.#options.disconnected();
      this.response.destroy();
    }, this.#options.slowReaderMs);
    const relieve = () => {
      clearTimeout(overdue);
      this.response.off("drain", relieve);
      this.response.off("close", relieve);
      relieved.resolve();
    };
    this.response.once("drain", relieve);
    this.response.once("close", relieve);
    return relieved.promise;
  }

  answer({ text, status }: { readonly text: string; readonly status: number }): void {
    this.#options.streams.delete(this);
    if (this.answerAsBody(text, status) || this.state !== "streaming") return;
    this.become("answered");
    this.response.end(messageEvent(text));
  }

  protected openStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
    this.#options.streams.add(this);
    beginEventStream(response, headers);
    response.flushHeaders();
  }
}
