import type { ServerResponse } from "node:http";
import { beginEventStream, isGone, KEEP_ALIVE, messageEvent, responseBatcher, sendProblem } from "../../../http/answers.js";
import { SlowRequest, SlowRequests } from "../../../http/connections.js";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { DeliveryHints } from "../../../jsonrpc/wire.js";
import type { Exchange, Outbox } from "../network/outbox.js";
import { rpcProblemText, sessionOver } from "../network/problems.js";
import type { SentMessage } from "../network/replayBuffer.js";
import type { StreamKind, StreamSink } from "../network/stream.js";

export interface ExchangeOptions {
  readonly ids: readonly RequestId[];
  readonly outbox: Outbox;
  readonly headers: Readonly<Record<string, string>>;
}

/** A POST whose response is one JSON body. All other messages go to the session's streams. */
export class JsonExchange implements Exchange {
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly stream = undefined;
  readonly ids: readonly RequestId[];

  constructor(response: ServerResponse, options: ExchangeOptions) {
    this.#response = response;
    this.#options = options;
    this.ids = options.ids;
  }

  get isOpen(): boolean {
    return !isGone(this.#response);
  }

  spoken(): void {}

  answered(text: string, about: DeliveryHints): boolean {
    if (isGone(this.#response)) return false;
    sendAnswer(this.#response, text, { status: statusOf(about), headers: this.#options.headers });
    return true;
  }

  givenUp(): void {
    sendSessionOver(this.#response, this.#options);
  }
}

/** The Retry-After value of a busy response. */
const BUSY_RETRY_AFTER_SECONDS = "5";

export interface PostReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Turns the response into a stream when the request takes too long. */
  readonly clock: SlowRequests;
}

/** `gone`: the client disconnected before it got headers. */
type PostState = "waiting" | "streaming" | "answered" | "gone";

/**
 * The response to one POST. It is a JSON body if the result is available before any other message and before the timeout of `SlowRequests`.
 * Otherwise it is a stream that ends with the result. Subclasses define the stream's content.
 */
export abstract class PostReply extends SlowRequest {
  readonly #options: PostReplyOptions;
  #state: PostState = "waiting";

  constructor(
    protected readonly response: ServerResponse,
    options: PostReplyOptions,
  ) {
    super();
    this.#options = options;
    options.clock.begin(this);
  }

  protected get state(): PostState {
    if (this.#state === "waiting" && isGone(this.response)) this.become("gone");
    return this.#state;
  }

  waitedLong(): void {
    this.becomeStream();
  }

  becomeStream(): void {
    if (this.state !== "waiting") return;
    this.become("streaming");
    this.openStream(this.response, this.#options.headers);
  }

  /** Starts the stream. Nothing has been sent yet. */
  protected abstract openStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void;

  /** Returns false if the response is a stream already, or the client has disconnected. */
  protected answerAsBody(text: string, status: number): boolean {
    if (this.state !== "waiting") return false;
    this.become("answered");
    sendAnswer(this.response, text, { status, headers: this.#options.headers });
    return true;
  }

  protected become(next: Exclude<PostState, "waiting">): void {
    if (this.#state === "waiting") this.#options.clock.end(this);
    this.#state = next;
  }
}

/** After this time a POST without a result becomes a stream, so that proxies do not time out. */
const slowPosts = new SlowRequests(1_000);

/**
 * The POST of a compliant client. The response is one JSON body if the result comes before any other message; otherwise it is a stream of
 * all messages about the request, with the result last.
 */
export class LazyExchange extends PostReply implements Exchange {
  readonly ids: readonly RequestId[];
  readonly #options: ExchangeOptions & { readonly primed: boolean };
  #name: string | undefined;

  constructor(response: ServerResponse, options: ExchangeOptions & { readonly primed: boolean }) {
    super(response, { headers: options.headers, clock: slowPosts });
    this.ids = options.ids;
    this.#options = options;
  }

  get isOpen(): boolean {
    return !isGone(this.response);
  }

  /** A client that got no event id cannot resume its own stream. The remaining messages, except the response, go to the session's streams. */
  get stream(): string | undefined {
    return this.state === "gone" ? undefined : this.#ownName;
  }

  spoken(): void {
    this.becomeStream();
  }

  answered(text: string, about: DeliveryHints): boolean {
    return this.answerAsBody(text, statusOf(about));
  }

  givenUp(): void {
    if (this.state !== "waiting") return;
    this.become("answered");
    sendSessionOver(this.response, this.#options);
  }

  protected openStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
    const { outbox, primed } = this.#options;
    openSse(response, outbox, { kind: "own", name: this.#ownName, headers, primed, about: this.ids[0] });
  }

  get #ownName(): string {
    this.#name ??= this.#options.outbox.names.next("own");
    return this.#name;
  }
}

/** A POST whose response is a stream of all the session's messages up to the result. */
export class StreamExchange implements Exchange {
  readonly stream = undefined;
  readonly ids: readonly RequestId[];
  readonly #response: ServerResponse;

  constructor(response: ServerResponse, { ids, outbox, headers }: ExchangeOptions) {
    this.#response = response;
    this.ids = ids;
    const [until] = ids;
    openSse(response, outbox, {
      kind: "everything",
      name: outbox.names.next("everything"),
      headers,
      ...(until === undefined ? {} : { until }),
    });
  }

  get isOpen(): boolean {
    return !isGone(this.#response);
  }

  spoken(): void {}

  answered(): boolean {
    return false;
  }

  givenUp(): void {}
}

function sendSessionOver(response: ServerResponse, { ids, headers }: ExchangeOptions): void {
  if (isGone(response)) return;
  const [id] = ids;
  sendProblem(response, sessionOver(id), { text: rpcProblemText, also: headers });
}

function statusOf({ answer }: DeliveryHints): number {
  return answer === "busy" ? 429 : 200;
}

/** Sends one JSON body. A busy error includes Retry-After. */
function sendAnswer(
  response: ServerResponse,
  text: string,
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): void {
  responseBatcher.send(response, text, {
    status,
    headers: status === 429 ? { ...headers, "retry-after": BUSY_RETRY_AFTER_SECONDS } : headers,
  });
}

/** How long a client that lost a stream may reconnect for missed messages. */
const COMES_BACK_WITHIN_MS = 5 * 60_000;

export interface SseOptions {
  readonly kind: StreamKind;
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly after?: number;
  readonly until?: RequestId;
  /** Start with an event without a message, so that a client can resume even if nothing else arrives. */
  readonly primed?: boolean;
  /** The request that the stream is about. */
  readonly about?: RequestId | undefined;
}

/**
 * Turns a response into a stream of the session's messages. It ends with the session, after its last message, or when the client
 * disconnects.
 */
export function openSse(response: ServerResponse, outbox: Outbox, { headers, primed, about, ...place }: SseOptions): void {
  beginEventStream(response, headers);
  const { streams } = outbox;
  const sink = new SseSink(response, (streamName, message) => outbox.eventId(streamName, message));
  const stream = streams.attach({ ...place, sink });
  if (primed) response.write(`id: ${outbox.eventId(place.name, { seq: stream.cursor, request: about })}\ndata:\n\n`);
  else response.flushHeaders();
  response.on("drain", () => streams.drained(stream));
  response.once("close", () => streams.detach(stream, { now: Date.now(), comesBackWithinMs: COMES_BACK_WITHIN_MS }));
}

export class SseSink implements StreamSink {
  readonly #response: ServerResponse;
  readonly #eventId: ((streamName: string, message: SentMessage) => string) | undefined;
  constructor(
    response: ServerResponse,
    /** Absent for clients that do not support event ids. */
    eventId?: (streamName: string, message: SentMessage) => string,
  ) {
    this.#response = response;
    this.#eventId = eventId;
  }

  write(messages: readonly SentMessage[], streamName: string): boolean {
    let events = "";
    for (const message of messages) events += messageEvent(message.text, this.#eventId?.(streamName, message));
    return this.#response.write(events);
  }

  keepAlive(): void {
    this.#response.write(KEEP_ALIVE);
  }

  end(how: "gracefully" | "immediately"): void {
    if (how === "gracefully") this.#response.end();
    else this.#response.destroy();
  }
}
