import type { Agent } from "../../agent/agent.js";
import type { ThreadId, TurnKey } from "../../lib/ids.js";
import type { StoredStory } from "../../threads/store.js";
import { StoredItems, type StoredReading } from "./storedItems.js";

/** A thread takes no more memory than its record: texts are shortened, and content for the model only is left out. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_THREADS = 16;

/**
 * The record of a running turn changes constantly. A reading that contains the turn's start stays valid for this many times the time that
 * it took: later changes are in the turn's events.
 */
const REST_TIMES = 10;

interface KeptItems {
  readonly version: string;
  readonly bytes: number;
  readonly items: StoredItems;
  /** The turn that was running when the reading started, if the record already contained its start. */
  readonly turn: TurnKey | undefined;
  /** Until then the reading may be used while the same turn runs. */
  readonly restsUntil: number;
}

interface CacheOptions {
  readonly mostBytes?: number;
  readonly mostThreads?: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number;
}

interface CachedReading extends StoredReading {
  /** The running turn, if its first message is on record. */
  readonly turn?: TurnKey | undefined;
  readonly signal: AbortSignal;
}

/** Caches the items of recently read threads, so that a page of a long thread does not read the whole record again. */
export class StoredCache {
  readonly #mostBytes: number;
  readonly #mostThreads: number;
  readonly #now: () => number;
  /** In order of use, the most recent last. */
  readonly #kept = new Map<ThreadId, KeptItems>();

  constructor({ mostBytes = MOST_BYTES, mostThreads = MOST_THREADS, now = () => performance.now() }: CacheOptions = {}) {
    this.#mostBytes = mostBytes;
    this.#mostThreads = mostThreads;
    this.#now = now;
  }

  /** The total size of the cached threads' records. */
  get bytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Throws like reading the record. The result is shared and must not be changed. */
  async read(threadId: ThreadId, story: StoredStory, { signal, turn, ...reading }: CachedReading): Promise<StoredItems> {
    const known = this.#kept.get(threadId);
    const { record } = story;
    const isResting = known !== undefined && turn !== undefined && known.turn === turn && this.#now() < known.restsUntil;
    if (known && record && (isResting || known.version === record.version)) {
      this.#keep(threadId, known);
      return known.items;
    }
    const begun = this.#now();
    const items = new StoredItems(reading);
    for await (const moment of story.moments) {
      signal.throwIfAborted();
      items.take(moment);
    }
    this.#kept.delete(threadId);
    // The version was taken before reading. Later changes give the record another version, so the next reader reads it again.
    const restsUntil = this.#now() + (this.#now() - begun) * REST_TIMES;
    if (record && record.bytes <= this.#mostBytes) this.#keep(threadId, { ...record, items, turn, restsUntil });
    return items;
  }

  #keep(threadId: ThreadId, kept: KeptItems): void {
    this.#kept.delete(threadId);
    this.#kept.set(threadId, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#mostThreads && this.bytes <= this.#mostBytes) return;
      this.#kept.delete(oldest);
    }
  }
}

const CACHES = new WeakMap<Agent, StoredCache>();

/** The agent's cache, which is released with the agent. */
export function storedCacheOf(agent: Agent): StoredCache {
  const cache = CACHES.get(agent) ?? new StoredCache();
  CACHES.set(agent, cache);
  return cache;
}
