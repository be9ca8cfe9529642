import { deferred } from "../lib/deferred.js";
import { indexAfter } from "../lib/indexAfter.js";

export interface Entry<T> {
  readonly seq: number;
  readonly value: T;
}

export interface LogOptions<T> {
  /** Weight (about bytes) past which `condense` is asked to shorten what is kept. */
  readonly limit: number;
  readonly weigh: (value: T) => number;
  /** Fewer entries that tell the same story. Entries at or before a cursor must not be joined with entries after it: a reader stands there. */
  readonly condense: (entries: readonly Entry<T>[], cursors: readonly number[]) => Entry<T>[];
}

/** One writer, many readers, each at its own place; numbered from 1, so that a reader can come back where it left. */
export class EventLog<T> {
  #entries: Entry<T>[] = [];
  #weight = 0;
  #condenseAt: number;
  #lastSeq = 0;
  #state: "open" | "ended" = "open";
  #more = deferred<void>();
  readonly #readers = new Set<{ cursor: number }>();

  constructor(private readonly options: LogOptions<T>) {
    this.#condenseAt = options.limit;
  }

  get size(): number {
    return this.#lastSeq;
  }

  append(values: readonly T[]): void {
    if (this.#state === "ended" || values.length === 0) return;
    for (const value of values) {
      this.#entries.push({ seq: ++this.#lastSeq, value });
      this.#weight += this.options.weigh(value);
    }
    if (this.#weight > this.#condenseAt) this.#condense();
    this.#wake();
  }

  end(): void {
    this.#state = "ended";
    this.#wake();
  }

  /** What is there after `after`, then what comes, in batches as they become available; returns at the log's end or on abort. */
  async *read({ after = 0, signal }: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncGenerator<readonly Entry<T>[]> {
    const wake = () => this.#wake();
    signal?.addEventListener("abort", wake, { once: true });
    const reader = { cursor: after };
    this.#readers.add(reader);
    try {
      while (!signal?.aborted) {
        const batch = this.#entries.slice(indexAfter(this.#entries, reader.cursor));
        const last = batch.at(-1);
        if (last) {
          reader.cursor = last.seq;
          yield batch;
        } else if (this.#state === "ended") return;
        else await this.#more.promise;
      }
    } finally {
      this.#readers.delete(reader);
      signal?.removeEventListener("abort", wake);
    }
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = deferred<void>();
  }

  #condense(): void {
    this.#entries = this.options.condense(
      this.#entries,
      [...this.#readers].map(({ cursor }) => cursor),
    );
    this.#weight = this.#entries.reduce((sum, { value }) => sum + this.options.weigh(value), 0);
    // What cannot be shortened is kept; trying again on every append would cost more than it saves.
    this.#condenseAt = Math.max(this.options.limit, this.#weight * 2);
  }
}
