import type { ServerResponse } from "node:http";
import { isGone, responseBatcher, sendJson, sendProblem } from "../../../http/answers.js";
import { SlowRequests, Waiting } from "../../../http/slowRequests.js";
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

/** What a client is told that has to come back later. */
export const BUSY_RETRY_AFTER_SECONDS = "5";

/** A POST answered by one JSON body; whatever else is said goes to the session's streams. */
export class JsonExchange implements Exchange {
  readonly stream = undefined;
  readonly ids: readonly RequestId[];

  constructor(
    private readonly response: ServerResponse,
    private readonly options: ExchangeOptions,
  ) {
    this.ids = options.ids;
  }

  spoken(): void {}

  answered(text: string, about: About): boolean {
    return sendAnswer(this.response, text, { about, headers: this.options.headers });
  }

  givenUp(): void {
    sendSessionOver(this.response, this.options);
  }
}

/** After this long without an answer a POST becomes a stream, so that nobody on the way takes it for dead. */
const BECOMES_STREAM_AFTER_MS = 1_000;
const slowRequests = new SlowRequests(BECOMES_STREAM_AFTER_MS);

/**
 * A POST of a client that follows the specification: one JSON body if the answer is there before anything else had to be said,
 * else a stream of everything about its request, the answer last.
 */
export class LazyExchange extends Waiting implements Exchange {
  readonly ids: readonly RequestId[];
  #name: string | undefined;
  #state: "waiting" | "streaming" | "answered" | "abandoned" = "waiting";

  constructor(
    private readonly response: ServerResponse,
    private readonly options: ExchangeOptions & { readonly primed: boolean },
  ) {
    super();
    this.ids = options.ids;
    slowRequests.begin(this);
  }

  get stream(): string | undefined {
    this.#noticeDeparture();
    return this.#state === "abandoned" ? undefined : this.#ownName;
  }

  spoken(): void {
    this.#becomeStream();
  }

  waitedLong(): void {
    this.#becomeStream();
  }

  answered(text: string, about: About): boolean {
    if (this.#state !== "waiting") return false;
    this.#stopWaiting("answered");
    return sendAnswer(this.response, text, { about, headers: this.options.headers });
  }

  givenUp(): void {
    if (this.#state !== "waiting") return;
    this.#stopWaiting("answered");
    sendSessionOver(this.response, this.options);
  }

  get #ownName(): string {
    this.#name ??= this.options.outbox.names.next("own");
    return this.#name;
  }

  /** Without an event's id a client cannot come back for a stream of its own: what is left to say goes to the session's streams. */
  #noticeDeparture(): void {
    if (this.#state === "waiting" && isGone(this.response)) this.#stopWaiting("abandoned");
  }

  #becomeStream(): void {
    this.#noticeDeparture();
    if (this.#state !== "waiting") return;
    this.#stopWaiting("streaming");
    const { outbox, headers, primed } = this.options;
    openSse(this.response, outbox, { kind: "own", name: this.#ownName, headers, primed });
  }

  #stopWaiting(state: "streaming" | "answered" | "abandoned"): void {
    slowRequests.end(this);
    this.#state = state;
  }
}

/** A POST that is a stream of everything the session says until its answer. */
export class StreamExchange implements Exchange {
  readonly stream = undefined;
  readonly ids: readonly RequestId[];

  constructor(response: ServerResponse, { ids, outbox, headers }: ExchangeOptions) {
    this.ids = ids;
    const [until] = ids;
    openSse(response, outbox, {
      kind: "everything",
      name: outbox.names.next("everything"),
      headers,
      ...(until === undefined ? {} : { until }),
    });
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

/** False when there is nobody to send it to any more. */
function sendAnswer(response: ServerResponse, text: string, options: { about: About; headers: Readonly<Record<string, string>> }): boolean {
  if (isGone(response)) return false;
  const { about, headers } = options;
  if (about.answer === "refused as busy")
    sendJson(response, text, { status: 429, headers: { ...headers, "retry-after": BUSY_RETRY_AFTER_SECONDS } });
  else responseBatcher.send(response, text, { status: 200, headers });
  return true;
}
