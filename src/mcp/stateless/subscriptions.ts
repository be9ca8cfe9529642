import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { type Deferred, deferred } from "../../lib/promises.js";
import { Shares } from "../../lib/shares.js";
import { META, type StatelessMethod, type StatelessRequest, TASKS_EXTENSION } from "./request.js";
import type { TaskRegistry } from "./taskRegistry.js";

/** Streams that may be open at once, shared by principals. */
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
  readonly #places = new Shares({ limit: MAX_OPEN });
  #closed = false;

  /** Notes from now on what is told of these topics. To be disposed of. */
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

  /** Ends it after what is still to be told. */
  end(): void {
    this.#over = true;
    this.#wake.resolve();
  }

  /** Tells the client what it will be told, and then that, until the request is cancelled or the server ends. */
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

/** The lists that a client can ask to be told about. */
export type ListFilter = "toolsListChanged" | "promptsListChanged" | "resourcesListChanged";

/** Tasks that one stream may be about. */
const MAX_TASKS = 1_024;

export interface ListenParts {
  readonly subscriptions: Subscriptions;
  /** The lists of this server. */
  readonly lists: readonly ListFilter[];
  readonly tasks: TaskRegistry;
}

/** `subscriptions/listen`: what a client wants to hear of, and of that what this server will tell it. */
export function listen({ subscriptions, lists, tasks }: ListenParts): StatelessMethod {
  return async (request) => {
    const { notifications: wanted } = request.params;
    if (!isFields(wanted)) throw invalidParams("subscriptions/listen: `notifications` must be an object");
    const wantedLists = lists.filter((list) => wanted[list] === true);
    const ids = TASKS_EXTENSION in request.claim.extensions ? taskIdsIn(wanted) : [];
    // Before anything is looked up, so that nothing is missed between how a task is now and what comes.
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

/** Those of the caller. One that it has not is left out, as one that nobody has. */
async function ownTasks(
  ids: readonly string[],
  { board, principal }: { readonly board: TaskRegistry; readonly principal: string | undefined },
): Promise<{ readonly id: string; readonly form: Fields }[]> {
  const forms = await Promise.allSettled(ids.map(async (id) => ({ id, form: await board.form(id, principal) })));
  return forms.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}
