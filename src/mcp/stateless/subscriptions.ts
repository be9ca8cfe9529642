import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { type Deferred, deferred } from "../../lib/promises.js";
import { Shares } from "../../lib/shares.js";
import { META, type StatelessMethod, type StatelessRequest, TASKS_EXTENSION } from "./request.js";
import type { TaskRegistry } from "./taskRegistry.js";

/** Maximum number of open streams, shared by the principals. */
const MAX_OPEN = 1_024;

/** A pending notification. A later one with the same topic replaces it. */
export interface News {
  readonly topic: string;
  readonly method: string;
  readonly params: Fields;
}

/** The streams on which clients get change notifications. A slow client misses only notifications that were replaced by newer ones. */
export class Subscriptions {
  readonly #open = new Set<Subscription>();
  readonly #places = new Shares({ limit: MAX_OPEN });
  #closed = false;

  /** Starts to collect notifications on these topics. Must be disposed. */
  open(request: StatelessRequest, topics: Iterable<string>): Subscription {
    const leave = this.#places.take(request.caller?.principal ?? "");
    if (!leave) throw new RpcError(RPC.busy, `${this.#open.size} subscriptions are open already; try again later`);
    const subscription: Subscription = new Subscription(request, new Set(topics), () => {
      leave();
      this.#open.delete(subscription);
    });
    this.#open.add(subscription);
    if (this.#closed) subscription.end();
    return subscription;
  }

  tell(news: News): void {
    for (const subscription of this.#open) subscription.take(news);
  }

  /** Ends every stream, each with its result. Streams opened later end at once. */
  close(): void {
    this.#closed = true;
    for (const subscription of this.#open) subscription.end();
  }
}

export interface Acknowledgement {
  /** The part of the requested filter that will be served. */
  readonly filter: Fields;
  readonly topics: Iterable<string>;
  /** The current states, unless a newer one has arrived. */
  readonly first: readonly News[];
}

/** One stream, from the moment of the request. */
export class Subscription implements Disposable {
  readonly #untold = new Map<string, News>();
  readonly #end = () => this.end();
  #wake: Deferred<void> = deferred();
  #over = false;

  readonly #request: StatelessRequest;
  readonly #closed: () => void;
  #topics: ReadonlySet<string>;

  constructor(request: StatelessRequest, topics: ReadonlySet<string>, closed: () => void) {
    this.#request = request;
    this.#topics = topics;
    this.#closed = closed;
    request.signal.addEventListener("abort", this.#end, { once: true });
    if (request.signal.aborted) this.end();
  }

  take(news: News): void {
    if (!this.#topics.has(news.topic)) return;
    this.#untold.set(news.topic, news);
    this.#wake.resolve();
  }

  /** Ends the stream after the pending notifications. */
  end(): void {
    this.#over = true;
    this.#wake.resolve();
  }

  /** Sends the acknowledgement and then the notifications, until the request is cancelled or the server shuts down. */
  async run({ filter, topics, first }: Acknowledgement): Promise<Fields> {
    this.#topics = new Set(topics);
    for (const topic of this.#untold.keys()) if (!this.#topics.has(topic)) this.#untold.delete(topic);
    for (const news of first) if (!this.#untold.has(news.topic)) this.take(news);
    this.#say("notifications/subscriptions/acknowledged", { notifications: filter });
    do {
      await this.#wake.promise;
      this.#wake = deferred();
      await this.#request.peer.congested();
      this.#tell();
    } while (!this.#over);
    return { _meta: { [META.subscriptionId]: this.#request.id } };
  }

  [Symbol.dispose](): void {
    this.#request.signal.removeEventListener("abort", this.#end);
    this.#closed();
  }

  #tell(): void {
    for (const [topic, { method, params }] of this.#untold) {
      this.#untold.delete(topic);
      this.#say(method, params);
    }
  }

  #say(method: string, params: Fields): void {
    const { id, peer, signal } = this.#request;
    if (!signal.aborted) peer.notify(method, { ...params, _meta: { [META.subscriptionId]: id } }, { relatedTo: id });
  }
}

/** The lists whose changes a client can subscribe to. */
export type ListFilter = "toolsListChanged" | "promptsListChanged" | "resourcesListChanged";

/** Maximum number of tasks per stream. */
const MAX_TASKS = 1_024;

export interface ListenParts {
  readonly subscriptions: Subscriptions;
  /** The lists of this server. */
  readonly lists: readonly ListFilter[];
  readonly tasks: TaskRegistry;
}

/** `subscriptions/listen`: reads the requested filter and serves the part that this server supports. */
export function listen({ subscriptions, lists, tasks }: ListenParts): StatelessMethod {
  return async (request) => {
    const { notifications: wanted } = request.params;
    if (!isFields(wanted)) throw invalidParams("subscriptions/listen: `notifications` must be an object");
    const wantedLists = lists.filter((list) => wanted[list] === true);
    const ids = TASKS_EXTENSION in request.claim.extensions ? taskIdsIn(wanted) : [];
    // Opened before the tasks are read, so that no change in between is missed.
    using subscription = subscriptions.open(request, [...wantedLists, ...ids.map(taskTopic)]);
    const own = await ownTasks(ids, { board: tasks, principal: request.caller?.principal });
    return await subscription.run({
      filter: {
        ...Object.fromEntries(wantedLists.map((list) => [list, true])),
        ...(own.length > 0 ? { taskIds: own.map(({ id }) => id) } : {}),
      },
      topics: [...wantedLists, ...own.map(({ id }) => taskTopic(id))],
      first: own.map(({ id, form }) => taskNews(id, form)),
    });
  };
}

export function taskNews(id: string, form: Fields): News {
  return { topic: taskTopic(id), method: "notifications/tasks", params: form };
}

function taskTopic(id: string): string {
  return `task ${id}`;
}

function taskIdsIn({ taskIds = [] }: Fields): readonly string[] {
  if (Array.isArray(taskIds) && taskIds.length <= MAX_TASKS && taskIds.every((id) => typeof id === "string"))
    return [...new Set<string>(taskIds)];
  throw invalidParams(`subscriptions/listen: \`taskIds\` must be a list of at most ${MAX_TASKS} strings`);
}

/** The caller's tasks. Other ids are left out, as unknown ids are. */
async function ownTasks(
  ids: readonly string[],
  { board, principal }: { readonly board: TaskRegistry; readonly principal: string | undefined },
): Promise<{ readonly id: string; readonly form: Fields }[]> {
  const forms = await Promise.allSettled(ids.map(async (id) => ({ id, form: await board.form(id, principal) })));
  return forms.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}
