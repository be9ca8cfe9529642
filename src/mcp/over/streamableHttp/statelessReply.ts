import type { ServerResponse } from "node:http";
import { SlowRequests } from "../../../http/slowRequests.js";
import { beginEventStream, KEEP_ALIVE, messageEvent } from "../../../http/sse.js";
import { deferred } from "../../../lib/deferred.js";
import { PostReply } from "./postReply.js";

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
