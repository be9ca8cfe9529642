import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../../agent/caller.js";
import { beginEventStream, KEEP_ALIVE, messageEvent } from "../../../http/answers.js";
import type { HttpRequest } from "../../../http/request.js";
import { SlowRequests } from "../../../http/slowRequests.js";
import { invalidParams, RPC, RpcError } from "../../../jsonrpc/errors.js";
import { errorText, notificationText, type RequestMessage, resultText } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";
import { deferred } from "../../../lib/promises.js";
import { claimsVersion } from "../../revisions.js";
import type { StatelessRequest } from "../../stateless/request.js";
import { META, readClaim, STATELESS_RPC } from "../../stateless/request.js";
import type { StatelessServer } from "../../stateless/server.js";
import { acceptsEventStream } from "./clientHeaders.js";
import { PostReply } from "./exchange.js";
import { type ArgumentHeaders, checkStatelessHeaders } from "./statelessHeaders.js";

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

/** A client that has no headers after minutes gives up; one that has may be sent signs of life. */
const slowPosts = new SlowRequests(5_000);

export interface ReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** The client takes a stream, as far as it said. */
  readonly takesStream: boolean;
  /** Streams that are open, for signs of life. */
  readonly streams: Set<StatelessReply>;
  /** How long a client may leave its stream unread. */
  readonly slowReaderMs: number;
  /** Told of every client that left it unread for longer. */
  readonly disconnected: () => void;
}

/** The answer to a request without a session: when its connection closes before, nobody wants it any more. */
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

  /** Aborts when the client has gone before the answer. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** One that takes no stream gets the result and nothing before it. */
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

  /** A promise while the client does not keep up; one that stays that way loses its connection. */
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
