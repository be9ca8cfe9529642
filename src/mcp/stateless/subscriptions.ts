import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Deferred, deferred } from "../../lib/deferred.js";
import type { Fields } from "../../lib/fields.js";
import { META } from "./claim.js";
import type { StatelessRequest } from "./request.js";

/** Streams that may be open at once. */
const MAX_OPEN = 1_024;

/** Something to be told, by the topic it is about: a later one about the same replaces it. */
export interface News {
  readonly topic: string;
  readonly method: string;
  readonly params: Fields;
}

/** The streams on which clients are told of changes. A client that reads slowly misses what was overtaken meanwhile, and nothing else. */
export class Subscriptions {
  readonly #open = new Set<Subscription>();
  #closed = false;

  /** Notes from now on what is told of these topics. To be disposed of. */
  open(request: StatelessRequest, topics: Iterable<string>): Subscription {
    if (this.#open.size >= MAX_OPEN) throw new RpcError(RPC.busy, `${MAX_OPEN} subscriptions are open already; try again later`);
    const subscription: Subscription = new Subscription(request, new Set(topics), () => this.#open.delete(subscription));
    this.#open.add(subscription);
    if (this.#closed) subscription.end();
    return subscription;
  }

  tell(news: News): void {
    for (const subscription of this.#open) subscription.take(news);
  }

  /** Ends every stream, also those still to come, each with its result. */
  close(): void {
    this.#closed = true;
    for (const subscription of this.#open) subscription.end();
  }
}

export interface Acknowledgement {
  /** What the client asked for and will be told. */
  readonly filter: Fields;
  readonly topics: Iterable<string>;
  /** How things are, as far as nothing newer has come. */
  readonly first: readonly News[];
}

/** One stream, from the moment its client asked for it. */
export class Subscription implements Disposable {
  readonly #untold = new Map<string, News>();
  readonly #end = () => this.end();
  #wake: Deferred<void> = deferred();
  #over = false;

  constructor(
    private readonly request: StatelessRequest,
    private topics: ReadonlySet<string>,
    private readonly closed: () => void,
  ) {
    request.signal.addEventListener("abort", this.#end, { once: true });
    if (request.signal.aborted) this.end();
  }

  take(news: News): void {
    if (!this.topics.has(news.topic)) return;
    this.#untold.set(news.topic, news);
    this.#wake.resolve();
  }

  /** Ends it after what is still to be told. */
  end(): void {
    this.#over = true;
    this.#wake.resolve();
  }

  /** Tells the client what it will be told, and then that, until the request is cancelled or the server ends. */
  async run({ filter, topics, first }: Acknowledgement): Promise<Fields> {
    this.topics = new Set(topics);
    for (const topic of this.#untold.keys()) if (!this.topics.has(topic)) this.#untold.delete(topic);
    for (const news of first) if (!this.#untold.has(news.topic)) this.take(news);
    this.#say("notifications/subscriptions/acknowledged", { notifications: filter });
    do {
      await this.#wake.promise;
      this.#wake = deferred();
      await this.request.peer.congested();
      this.#tell();
    } while (!this.#over);
    return { _meta: { [META.subscriptionId]: this.request.id } };
  }

  [Symbol.dispose](): void {
    this.request.signal.removeEventListener("abort", this.#end);
    this.closed();
  }

  #tell(): void {
    for (const [topic, { method, params }] of this.#untold) {
      this.#untold.delete(topic);
      this.#say(method, params);
    }
  }

  #say(method: string, params: Fields): void {
    const { id, peer, signal } = this.request;
    if (!signal.aborted) peer.notify(method, { ...params, _meta: { [META.subscriptionId]: id } }, { relatedTo: id });
  }
}
