import type { ServerResponse } from "node:http";
import { responseBatcher } from "../../../http/answers.js";
import { beginEventStream, KEEP_ALIVE, messageEvent } from "../../../http/sse.js";
import { deferred } from "../../../lib/deferred.js";
import { BUSY_RETRY_AFTER_SECONDS } from "./exchange.js";

/** A client that has no headers after minutes gives up; one that has may be sent signs of life. */
const BECOMES_STREAM_AFTER_MS = 5_000;

export interface ReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** The client takes a stream, as far as it said. */
  readonly takesStream: boolean;
  /** Streams that are open, for signs of life. */
  readonly streams: Set<StatelessReply>;
  /** How long a client may leave its stream unread. */
  readonly slowReaderMs: number;
}

/** One response: a JSON body if nothing has to be said before the result and that comes soon, else a stream that ends with it. */
export class StatelessReply {
  readonly #gone = new AbortController();
  readonly #silence: NodeJS.Timeout;
  #state: "silent" | "streaming" | "over" = "silent";

  constructor(
    private readonly response: ServerResponse,
    private readonly options: ReplyOptions,
  ) {
    this.#silence = setTimeout(() => this.#openStream(), BECOMES_STREAM_AFTER_MS);
    response.once("close", () => {
      clearTimeout(this.#silence);
      options.streams.delete(this);
      if (this.#state !== "over") this.#gone.abort(new Error("the client closed the connection"));
      this.#state = "over";
    });
  }

  /** Aborts when the client has gone before the answer. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** One that takes no stream gets the result and nothing before it. */
  say(text: string): void {
    if (this.#state === "silent") this.#openStream();
    if (this.#state === "streaming") this.response.write(messageEvent(text));
  }

  keepAlive(): void {
    if (!this.response.writableNeedDrain) this.response.write(KEEP_ALIVE);
  }

  /** A promise while the client does not keep up; one that stays that way loses its connection. */
  congested(): Promise<void> | undefined {
    if (this.#state === "over" || !this.response.writableNeedDrain) return undefined;
    const relieved = deferred<void>();
    const overdue = setTimeout(() => this.response.destroy(), this.options.slowReaderMs);
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
    if (this.#state === "over") return;
    const streaming = this.#state === "streaming";
    this.#state = "over";
    clearTimeout(this.#silence);
    this.options.streams.delete(this);
    if (streaming) return void this.response.end(messageEvent(text));
    const { headers } = this.options;
    responseBatcher.send(this.response, text, {
      status,
      headers: status === 429 ? { ...headers, "retry-after": BUSY_RETRY_AFTER_SECONDS } : headers,
    });
  }

  #openStream(): void {
    clearTimeout(this.#silence);
    if (!this.options.takesStream) return;
    this.#state = "streaming";
    this.options.streams.add(this);
    beginEventStream(this.response, this.options.headers);
    this.response.flushHeaders();
  }
}
