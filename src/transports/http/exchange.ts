import type { ServerResponse } from "node:http";
import type { RequestId } from "../../jsonrpc/message.js";
import type { About } from "../../jsonrpc/wire.js";
import { HttpRefusal, SESSION_OVER, sendJson, sendRefusal } from "./answers.js";
import type { Exchange, Outbox } from "./outbox.js";
import { openSse } from "./sse.js";

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

/**
 * A POST of a client that follows the specification: one JSON body if the answer is there before anything else had to be said,
 * else a stream of everything about its request, the answer last.
 */
export class LazyExchange implements Exchange {
  readonly ids: readonly RequestId[];
  readonly #name: string;
  #timer: NodeJS.Timeout | undefined;
  #state: "waiting" | "streaming" | "answered" | "abandoned" = "waiting";

  constructor(
    private readonly response: ServerResponse,
    private readonly options: ExchangeOptions & { readonly primed: boolean },
  ) {
    this.ids = options.ids;
    this.#name = options.outbox.newStreamName("own");
    // Most requests are answered in the same turn of the event loop, and a timer for each would cost more than their answers.
    setImmediate(() => this.#limitWaiting());
    response.on("close", () => {
      clearTimeout(this.#timer);
      // Without an event's id the client cannot come back for a stream of its own: what is left to say goes to the session's streams.
      if (this.#state === "waiting") this.#state = "abandoned";
    });
  }

  get stream(): string | undefined {
    return this.#state === "abandoned" ? undefined : this.#name;
  }

  spoken(): void {
    if (this.#state === "waiting") this.#openStream();
  }

  answered(text: string, about: About): boolean {
    clearTimeout(this.#timer);
    if (this.#state !== "waiting") return false;
    this.#state = "answered";
    return sendAnswer(this.response, text, { about, headers: this.options.headers });
  }

  givenUp(): void {
    clearTimeout(this.#timer);
    if (this.#state !== "waiting") return;
    this.#state = "answered";
    sendSessionOver(this.response, this.options);
  }

  #limitWaiting(): void {
    if (this.#state === "waiting") this.#timer = setTimeout(() => this.#openStream(), BECOMES_STREAM_AFTER_MS);
  }

  #openStream(): void {
    clearTimeout(this.#timer);
    this.#state = "streaming";
    const { outbox, headers, primed } = this.options;
    openSse(this.response, outbox, { kind: "own", name: this.#name, headers, primed });
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
      name: outbox.newStreamName("everything"),
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
  if (response.destroyed || response.closed) return;
  const [id] = ids;
  sendRefusal(response, new HttpRefusal({ ...SESSION_OVER, ...(id === undefined ? {} : { id }) }), headers);
}

/** False when there is nobody to send it to any more. */
function sendAnswer(response: ServerResponse, text: string, options: { about: About; headers: Readonly<Record<string, string>> }): boolean {
  if (response.destroyed || response.closed) return false;
  const { about, headers } = options;
  if (about.answer === "refused as busy")
    sendJson(response, text, { status: 429, headers: { ...headers, "retry-after": BUSY_RETRY_AFTER_SECONDS } });
  else sendJson(response, text, { status: 200, headers });
  return true;
}
