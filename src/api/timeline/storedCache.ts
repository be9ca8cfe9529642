import type { Agent } from "../../agent/agent.js";
import type { ThreadId } from "../../lib/ids.js";
import type { StoredStory } from "../../threads/store.js";
import { StoredItems, type StoredReading } from "./storedItems.js";

/** A thread takes no more memory than its record: texts are shortened, and content for the model only is left out. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_THREADS = 16;

interface KeptItems {
  readonly version: string;
  readonly bytes: number;
  readonly items: StoredItems;
}

interface CacheLimits {
  readonly mostBytes: number;
  readonly mostThreads: number;
}

/** Caches the items of recently read threads, so that a page of a long thread does not read the whole record again. */
export class StoredCache {
  readonly #limits: CacheLimits;
  /** In order of use, the most recent last. */
  readonly #kept = new Map<ThreadId, KeptItems>();

  constructor(limits: CacheLimits = { mostBytes: MOST_BYTES, mostThreads: MOST_THREADS }) {
    this.#limits = limits;
  }

  /** The total size of the cached threads' records. */
  get bytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Throws like reading the record. The result is shared and must not be changed. */
  async read(
    threadId: ThreadId,
    story: StoredStory,
    { signal, ...reading }: StoredReading & { signal: AbortSignal },
  ): Promise<StoredItems> {
    const known = this.#kept.get(threadId);
    const { record } = story;
    if (known && known.version === record?.version) {
      this.#keep(threadId, known);
      return known.items;
    }
    const items = new StoredItems(reading);
    for await (const moment of story.moments) {
      signal.throwIfAborted();
      items.take(moment);
    }
    this.#kept.delete(threadId);
    // The version was taken before reading. Later changes give the record another version, so the next reader reads it again.
    if (record && record.bytes <= this.#limits.mostBytes) this.#keep(threadId, { ...record, items });
    return items;
  }

  #keep(threadId: ThreadId, kept: KeptItems): void {
    this.#kept.delete(threadId);
    this.#kept.set(threadId, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#limits.mostThreads && this.bytes <= this.#limits.mostBytes) return;
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
