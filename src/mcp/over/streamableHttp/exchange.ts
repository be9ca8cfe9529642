import type { ServerResponse } from "node:http";
import { isGone, responseBatcher, sendProblem } from "../../../http/answers.js";
import { SlowRequest, SlowRequests } from "../../../http/slowRequests.js";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { About } from "../../../jsonrpc/wire.js";
import type { Exchange, Outbox } from "../network/outbox.js";
import { rpcProblemText, sessionOver } from "../network/problems.js";
import { openSse } from "../network/sseStream.js";

export interface ExchangeOptions {
  readonly ids: readonly RequestId[];
  readonly outbox: Outbox;
  readonly headers: Readonly<Record<string, string>>;
}

/** A POST answered by one JSON body; whatever else is said goes to the session's streams. */
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

  answered(text: string, about: About): boolean {
    if (isGone(this.#response)) return false;
    sendAnswer(this.#response, text, { status: statusOf(about), headers: this.#options.headers });
    return true;
  }

  givenUp(): void {
    sendSessionOver(this.#response, this.#options);
  }
}

/** What a client is told that has to come back later. */
const BUSY_RETRY_AFTER_SECONDS = "5";

export interface PostReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Says when it has waited for so long that it becomes a stream. */
  readonly clock: SlowRequests;
}

/** `gone`: its client left before it had so much as headers. */
type PostState = "waiting" | "streaming" | "answered" | "gone";

/**
 * The answer to one POST: a JSON body if it is there before anything else has to be said and before nobody on the way would wait any longer, else
 * a stream that ends with it. What the stream carries is its owner's business.
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

  /** Begins the stream: nothing was sent yet. */
  protected abstract openStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void;

  /** False when it is a stream by now, or there is nobody to send it to any more. */
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

/** After this long without an answer a POST becomes a stream, so that nobody on the way takes it for dead. */
const slowPosts = new SlowRequests(1_000);

/**
 * A POST of a client that follows the specification: one JSON body if the answer is there before anything else had to be said,
 * else a stream of everything about its request, the answer last.
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

  /** Without an event's id a client cannot come back for a stream of its own: what is left to say then goes to the session's streams. */
  get stream(): string | undefined {
    return this.state === "gone" ? undefined : this.#ownName;
  }

  spoken(): void {
    this.becomeStream();
  }

  answered(text: string, about: About): boolean {
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

/** A POST that is a stream of everything the session says until its answer. */
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

function statusOf({ answer }: About): number {
  return answer === "refused as busy" ? 429 : 200;
}

/** One JSON body; whoever is refused because too much goes on is told when to try again. */
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
