import type { Agent, Ask } from "../../agent/agent.js";
import type { FeedEntry, FeedGap } from "../../agent/feed.js";
import type { ThreadId, TurnKey } from "../../lib/ids.js";
import type { Entry } from "../../threads/eventLog.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import type { ApiEvent } from "../schemas/events.js";
import { type EventCursor, type EventSource, feedCursorAt, formatCursor, type PlacedEvent, resetEvent } from "../timeline/eventSource.js";
import { TurnItems } from "../timeline/turnItems.js";
import { turnView } from "../timeline/views.js";
import { Onlooker } from "./onlooker.js";
import { Pulled, Wake } from "./pulled.js";
import { eventOfEntry } from "./serverStream.js";

export interface ThreadStreamOptions {
  readonly agent: Agent;
  readonly ask: Ask;
  readonly threadId: ThreadId;
  readonly after: EventCursor;
}

interface FollowedTurn {
  readonly key: TurnKey;
  /** Undefined for a turn that ended before the reader reconnected. */
  readonly turn: Turn | undefined;
  readonly begun: number;
  readonly log: Pulled<readonly Entry<ThreadEvent>[]>;
  readonly items: TurnItems;
  /** The last event the reader has received. */
  seq: number;
  isTold: boolean;
  /** The feed's entry for its end, which is sent after all other events. */
  end: FeedEntry | undefined;
}

/** The cursor for a reader that has the thread's current state. */
export async function placeNow(agent: Agent, ask: Ask, threadId: ThreadId): Promise<EventCursor> {
  const turn = (await agent.runningTurns(ask, threadId)).find(({ begunAt }) => begunAt !== undefined);
  // Nothing may happen between the two look-ups.
  const begun = turn && agent.feed.lastOf(ask.caller, "turnBegun", ({ turnKey }) => turnKey === turn.key);
  return { feed: agent.feed.now, ...(turn && begun && { turn: { begun: begun.number, seq: turn.log.size } }) };
}

/**
 * The events of a thread: the feed's entries about it and, while a turn runs, the turn's own events. Both are read concurrently, so that a
 * long turn does not delay other events; the end of a turn comes after its last event.
 */
export class ThreadStream implements EventSource {
  readonly #options: ThreadStreamOptions;
  readonly #wake = new Wake();
  #feedAt: string;
  #turn: FollowedTurn | undefined;
  #isBegun = false;

  constructor(options: ThreadStreamOptions) {
    this.#options = options;
    this.#feedAt = options.after.feed;
  }

  get place(): string {
    const turn = this.#turn;
    if (!turn && !this.#isBegun) return formatCursor(this.#options.after);
    return formatCursor({ feed: this.#feedAt, ...(turn && { turn: { begun: turn.begun, seq: turn.seq } }) });
  }

  async *read(): AsyncGenerator<PlacedEvent> {
    const { agent, ask, threadId, after } = this.#options;
    using onlooker = new Onlooker(agent, ask);
    await onlooker.watch(threadId);
    const isKnown = after.turn === undefined || (await this.#resume(after.turn));
    this.#isBegun = true;
    if (!isKnown) yield this.#placed(resetEvent());
    const wake = () => this.#wake.call();
    ask.signal.addEventListener("abort", wake, { once: true });
    await using feed = new Pulled(agent.feed.read(ask.caller, { after: after.feed, signal: ask.signal }), this.#wake);
    try {
      while (!ask.signal.aborted) {
        const turn = this.#turn;
        const batch = turn?.isTold === false ? turn.log.take() : undefined;
        if (turn && batch) {
          if (batch.done === true) turn.isTold = true;
          else yield* this.#tell(turn, batch.value);
        } else if (turn?.end) {
          if (turn.isTold) yield* this.#ended(turn, turn.end, onlooker);
          else await this.#wake.wait();
        } else {
          const next = feed.take();
          if (next?.done === true) return;
          if (next) yield* this.#entry(next.value, onlooker);
          else await this.#wake.wait();
        }
      }
    } finally {
      ask.signal.removeEventListener("abort", wake);
      await this.#turn?.log[Symbol.asyncDispose]();
    }
  }

  /** False when the events since then are no longer known. */
  async #resume({ begun, seq }: { readonly begun: number; readonly seq: number }): Promise<boolean> {
    const { agent, ask, threadId, after } = this.#options;
    const entry = agent.feed.entryAt(ask.caller, feedCursorAt(after.feed, begun));
    return entry?.type === "turnBegun" && entry.threadId === threadId && (await this.#follow(entry, seq));
  }

  async #follow({ turnKey, number }: Extract<FeedEntry, { type: "turnBegun" }>, seq: number): Promise<boolean> {
    const { agent, ask, threadId } = this.#options;
    const log = await agent.events(ask, { threadId, turn: turnKey });
    if (!log) return false;
    const turn = (await agent.runningTurns(ask, threadId)).find(({ key }) => key === turnKey);
    const costOf = agent.costOf.bind(agent);
    const ranMs = () => turn?.ranMs ?? agent.feed.lastOf(ask.caller, "turnEnded", (entry) => entry.turnKey === turnKey)?.ms;
    this.#turn = {
      key: turnKey,
      turn,
      begun: number,
      // Read from the beginning: the effect of an event depends on those before it.
      log: new Pulled(log.read({ signal: ask.signal }), this.#wake),
      items: new TurnItems({ threadId, turnId: turnKey, ranMs, costOf }),
      seq,
      isTold: false,
      end: undefined,
    };
    return true;
  }

  *#tell(turn: FollowedTurn, entries: readonly Entry<ThreadEvent>[]): Generator<PlacedEvent> {
    const { threadId } = this.#options;
    for (const { seq, value } of entries) {
      const at = new Date().toISOString();
      const news = turn.items.take(value);
      if (seq <= turn.seq) continue;
      turn.seq = seq;
      for (const each of news) yield this.#placed({ ...each, threadId, turnId: turn.key, at } as ApiEvent);
    }
  }

  async *#entry(entry: FeedEntry | FeedGap, onlooker: Onlooker): AsyncGenerator<PlacedEvent> {
    const { agent, ask, threadId } = this.#options;
    if (entry.type === "gap") {
      // A client that reloads everything has the state up to here.
      this.#feedAt = agent.feed.now;
      return yield this.#placed(resetEvent());
    }
    this.#feedAt = entry.cursor;
    if (entry.threadId !== threadId) return;
    if (entry.type === "turnEnded" && this.#turn?.key === entry.turnKey) {
      this.#turn.end = entry;
      return;
    }
    yield this.#placed(await eventOfEntry(agent, ask, entry));
    if (entry.type === "turnQueued") await onlooker.watch(threadId);
    if (entry.type === "turnBegun" && !(await this.#follow(entry, 0))) yield this.#placed(resetEvent());
  }

  async *#ended({ key, turn, log }: FollowedTurn, end: FeedEntry, onlooker: Onlooker): AsyncGenerator<PlacedEvent> {
    const { agent, ask } = this.#options;
    await log[Symbol.asyncDispose]();
    this.#turn = undefined;
    onlooker.leave(key);
    const event = await eventOfEntry(agent, ask, end);
    yield this.#placed(turn && event.type === "turn.ended" ? { ...event, turn: await turnView(agent, turn, { isWaiting: false }) } : event);
  }

  #placed(event: ApiEvent): PlacedEvent {
    return { id: this.place, event };
  }
}
