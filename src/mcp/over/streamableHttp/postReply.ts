import type { ServerResponse } from "node:http";
import { isGone, responseBatcher } from "../../../http/answers.js";
import { SlowRequest, type SlowRequests } from "../../../http/slowRequests.js";

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

/** One JSON body; whoever is refused because too much goes on is told when to try again. */
export function sendAnswer(
  response: ServerResponse,
  text: string,
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): void {
  responseBatcher.send(response, text, {
    status,
    headers: status === 429 ? { ...headers, "retry-after": BUSY_RETRY_AFTER_SECONDS } : headers,
  });
}
