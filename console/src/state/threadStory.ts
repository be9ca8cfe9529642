import type { PlanSteps, Tokens } from "../../../src/api/schemas/common.js";
import type { ApiEvent } from "../../../src/api/schemas/events.js";
import type { TimelineItem as Item, ItemPage } from "../../../src/api/schemas/items.js";
import { type Connection, followEvents } from "../api/eventStream.js";
import { ApiFailure, request } from "../api/requests.js";
import { Signal } from "./signal.js";

const PAGE = 100;
/** Items per segment: a new item makes React compare only one segment, and segments far outside the viewport are not rendered. */
const SEGMENT = 50;
/** The limit for the output of a running command and for an answer that is being streamed; the same as in the server's lists. */
const MOST_TEXT = 64 * 1024;

/** The state of a thread's list of items. Unchanged segments keep their arrays. */
export interface StoryShape {
  readonly state: "loading" | "ready" | "failed";
  readonly segments: readonly (readonly string[])[];
  readonly older: "none" | "more" | "loading";
  readonly failure: ApiFailure | undefined;
}

/** The items of one thread: the newest page, older pages on request, and live events. */
export class ThreadStory {
  readonly shape = new Signal<StoryShape>({ state: "loading", segments: [], older: "none", failure: undefined });
  /** The item to jump to. It is rendered however far outside the viewport it is. */
  readonly sought = new Signal<string | undefined>(undefined);
  readonly connection = new Signal<Connection>("connecting");
  readonly plan = new Signal<PlanSteps | undefined>(undefined);
  readonly usage = new Signal<{ readonly turn: Tokens; readonly contextWindow: number | null } | undefined>(undefined);
  readonly #threadId: string;
  readonly #items = new Map<string, Signal<Item>>();
  readonly #onTurn: (event: ApiEvent) => void;
  #deltas: Extract<ApiEvent, { type: "item.delta" }>[] = [];
  #frame: number | undefined;
  #olderCursor: string | null = null;
  #life = new AbortController();
  #place: string | undefined;

  /** @param onTurn Called when a turn begins, ends or asks, because the state of the whole thread changes then. */
  constructor(threadId: string, onTurn: (event: ApiEvent) => void) {
    this.#threadId = threadId;
    this.#onTurn = onTurn;
  }

  item(id: string): Signal<Item> | undefined {
    return this.#items.get(id);
  }

  /** The id of the last loaded item that matches. */
  lastItem(isSought: (item: Item) => boolean): string | undefined {
    const isIt = (id: string) => {
      const item = this.#items.get(id)?.value;
      return item !== undefined && isSought(item);
    };
    return this.shape.value.segments.flat().findLast(isIt);
  }

  /** Reads and follows until `stop`. Started again, it resumes where it was. */
  start(): void {
    this.#life = new AbortController();
    void (this.#place === undefined ? this.#load() : this.#follow());
  }

  stop(): void {
    this.#life.abort();
    this.#flush();
  }

  async loadOlder(): Promise<void> {
    const { signal } = this.#life;
    if (this.shape.value.older !== "more" || this.#olderCursor === null) return;
    this.#reshape({ older: "loading" });
    try {
      const page = await this.#page(this.#olderCursor, signal);
      if (signal.aborted) return this.#reshape({ older: "more" });
      this.#olderCursor = page.nextCursor;
      const ids = this.#take(page.items);
      this.#reshape({ segments: [...parted(ids), ...this.shape.value.segments], older: page.nextCursor === null ? "none" : "more" });
    } catch {
      // The button to load older items is shown again.
      this.#reshape({ older: "more" });
    }
  }

  async #load(): Promise<void> {
    const { signal } = this.#life;
    try {
      const page = await this.#page(undefined, signal);
      if (signal.aborted) return;
      this.#items.clear();
      this.#deltas = [];
      this.#olderCursor = page.nextCursor;
      this.#place = page.eventsAfter;
      this.#reshape({
        state: "ready",
        segments: parted(this.#take(page.items)),
        older: page.nextCursor === null ? "none" : "more",
        failure: undefined,
      });
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof ApiFailure ? error : new ApiFailure(0, "unknown", String(error));
      this.#reshape({ state: "failed", failure });
      return;
    }
    await this.#follow();
  }

  async #follow(): Promise<void> {
    // Events of an abandoned stream may still arrive.
    const { signal } = this.#life;
    await followEvents({
      path: `threads/${encodeURIComponent(this.#threadId)}/events`,
      after: this.#place,
      onPlace: (place) => {
        this.#place = place;
      },
      onEvent: (event) => !signal.aborted && this.#hear(event),
      onConnection: (now) => !signal.aborted && this.connection.set(now),
      onRefused: (failure) => this.#reshape({ failure }),
      signal,
    });
  }

  #hear(event: ApiEvent): void {
    switch (event.type) {
      case "item.started":
      case "item.completed":
        this.#flush();
        if (event.item.type === "turnSummary") this.#onTurn(event);
        return this.#put(event.item);
      case "item.delta":
        this.#deltas.push(event);
        // Deltas arrive faster than the screen can show them, so they are batched.
        this.#frame ??= window.setTimeout(() => this.#flush(), FRAME_MS);
        return;
      case "turn.plan":
        return this.plan.set(event.plan);
      case "turn.usage":
        return this.usage.set({ turn: event.usage, contextWindow: event.contextWindow });
      case "reset":
        this.stop();
        this.#place = undefined;
        return this.start();
      case "turn.started":
        this.usage.set(undefined);
        return this.#onTurn(event);
      case "hello":
      case "heartbeat":
      case "turn.diff":
        return;
      default:
        return this.#onTurn(event);
    }
  }

  #flush(): void {
    if (this.#frame !== undefined) window.clearTimeout(this.#frame);
    this.#frame = undefined;
    const changed = new Map<string, Item>();
    for (const { itemId, ...delta } of this.#deltas) {
      const item = changed.get(itemId) ?? this.#items.get(itemId)?.value;
      if (item) changed.set(itemId, withDelta(item, delta));
    }
    this.#deltas = [];
    for (const [id, item] of changed) this.#items.get(id)?.set(item);
  }

  #put(item: Item): void {
    const known = this.#items.get(item.id);
    if (known) return known.set(item);
    this.#items.set(item.id, new Signal(item));
    const segments = [...this.shape.value.segments];
    const last = segments.pop() ?? [];
    if (last.length < SEGMENT) segments.push([...last, item.id]);
    else segments.push(last, [item.id]);
    this.#reshape({ segments });
  }

  #take(items: readonly Item[]): readonly string[] {
    const isNew = items.filter(({ id }) => !this.#items.has(id));
    for (const item of isNew) this.#items.set(item.id, new Signal(item));
    return [...new Set(isNew.map(({ id }) => id))];
  }

  #page(cursor: string | undefined, signal: AbortSignal): Promise<ItemPage> {
    return request<ItemPage>(`threads/${encodeURIComponent(this.#threadId)}/items`, {
      query: { limit: PAGE, cursor, order: "newest" },
      signal,
    });
  }

  #reshape(change: Partial<StoryShape>): void {
    this.shape.set({ ...this.shape.value, ...change });
  }
}

const FRAME_MS = 33;

function parted(ids: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / SEGMENT) }, (_, at) => ids.slice(at * SEGMENT, (at + 1) * SEGMENT));
}

type Delta = Pick<Extract<ApiEvent, { type: "item.delta" }>, "field" | "index" | "delta">;

function withDelta(item: Item, { field, index, delta }: Delta): Item {
  if (item.type === "agentMessage" && field === "text") return item.truncated ? item : withText(item, item.text + delta);
  if (item.type === "command" && field === "output") return { ...item, output: (item.output + delta).slice(-MOST_TEXT) };
  if (item.type !== "reasoning" || (field !== "summary" && field !== "content")) return item;
  const texts = [...item[field]];
  while (texts.length <= index) texts.push("");
  texts[index] = (texts[index] + delta).slice(0, MOST_TEXT);
  return { ...item, [field]: texts };
}

function withText(item: Extract<Item, { type: "agentMessage" }>, text: string): Item {
  return text.length <= MOST_TEXT ? { ...item, text } : { ...item, text: text.slice(0, MOST_TEXT), truncated: true };
}
