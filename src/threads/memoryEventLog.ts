import type { ThreadId, TurnKey } from "../lib/ids.js";
import { type Deferred, deferred } from "../lib/promises.js";
import type { Entry, EventLog, EventLogs, LogReader, LogReading, TurnAddress } from "./eventLog.js";
import type { ThreadEvent } from "./events.js";
import type { Item } from "./items.js";

export interface MemoryLogOptions<T> {
  /** Weight (about bytes) above which `condense` is called. */
  readonly limit: number;
  readonly weigh: (value: T) => number;
  /**
   * Returns fewer entries with the same content. Entries up to a cursor must not be merged with entries after it: a reader stands there.
   */
  readonly condense: (entries: readonly Entry<T>[], cursors: readonly number[]) => Entry<T>[];
}

/** A log in the memory of the node that writes it. */
export class MemoryEventLog<T> implements EventLog<T> {
  readonly #options: MemoryLogOptions<T>;
  readonly #onEnd: (() => void) | undefined;
  #entries: Entry<T>[] = [];
  #weight = 0;
  #condenseAt: number;
  #lastSeq = 0;
  #state: "open" | "ended" = "open";
  /** Awaited by readers that have read everything. */
  #more: Deferred<void> | undefined;
  readonly #readers = new Set<{ cursor: number }>();

  /** `onEnd` is called once, with the last entry. */
  constructor(options: MemoryLogOptions<T>, onEnd?: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#condenseAt = options.limit;
  }

  get size(): number {
    return this.#lastSeq;
  }

  /** Approximate size in bytes. */
  get weight(): number {
    return this.#weight;
  }

  append(values: readonly T[]): void {
    if (this.#state === "ended" || values.length === 0) return;
    for (const value of values) {
      this.#entries.push({ seq: ++this.#lastSeq, value });
      this.#weight += this.#options.weigh(value);
    }
    if (this.#weight > this.#condenseAt) this.#condense();
    this.#wake();
  }

  end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#onEnd?.();
    this.#wake();
  }

  async *read({ after = 0, signal }: LogReading = {}): AsyncGenerator<readonly Entry<T>[]> {
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
        else {
          this.#more ??= deferred<void>();
          await this.#more.promise;
        }
      }
    } finally {
      this.#readers.delete(reader);
      signal?.removeEventListener("abort", wake);
    }
  }

  #wake(): void {
    this.#more?.resolve();
    this.#more = undefined;
  }

  #condense(): void {
    this.#entries = this.#options.condense(
      this.#entries,
      [...this.#readers].map(({ cursor }) => cursor),
    );
    this.#weight = this.#entries.reduce((sum, { value }) => sum + this.#options.weigh(value), 0);
    // What cannot be condensed is kept; retrying on every append would cost more than it saves.
    this.#condenseAt = Math.max(this.#options.limit, this.#weight * 2);
  }
}

/** Logs of ended turns serve readers that reconnect, so keeping the recent ones is enough. */
const ENDED_LOGS = { most: 64, weight: 16 * 1024 * 1024 };

/** The logs of one node's turns: all running ones, and the most recently ended ones. */
export class MemoryEventLogs<T> implements EventLogs<T> {
  readonly #options: MemoryLogOptions<T>;
  readonly #logs = new Map<TurnKey, { readonly threadId: ThreadId; readonly log: MemoryEventLog<T> }>();
  /** The ended logs in the order in which they ended, with their weights. */
  readonly #ended = new Map<TurnKey, number>();
  #endedWeight = 0;

  constructor(options: MemoryLogOptions<T>) {
    this.#options = options;
  }

  create({ threadId, turn }: TurnAddress): EventLog<T> {
    this.#forgetOldest();
    const log = new MemoryEventLog(this.#options, () => {
      this.#ended.set(turn, log.weight);
      this.#endedWeight += log.weight;
    });
    this.#logs.set(turn, { threadId, log });
    return log;
  }

  async find({ threadId, turn }: TurnAddress): Promise<LogReader<T> | undefined> {
    const found = this.#logs.get(turn);
    return found?.threadId === threadId ? found.log : undefined;
  }

  #forgetOldest(): void {
    for (const [turn, weight] of this.#ended) {
      if (this.#ended.size <= ENDED_LOGS.most && this.#endedWeight <= ENDED_LOGS.weight) return;
      this.#logs.delete(turn);
      this.#ended.delete(turn);
      this.#endedWeight -= weight;
    }
  }
}

type Delta = Extract<ThreadEvent, { type: "messageDelta" | "reasoningDelta" | "rawReasoningDelta" }>;

/** The approximate memory cost of an entry. */
export function weighEvent(event: ThreadEvent): number {
  if (isDelta(event)) return 100 + event.delta.length;
  if (event.type === "commandOutput") return 100 + event.bytes.length;
  if (event.type === "commandEnded") return 500 + 2 * event.aggregatedOutput.length;
  if (event.type === "itemCompleted" && event.item.kind === "userMessage") return 200 + lengthOf(event.item);
  return 500;
}

function lengthOf({ text, images = [] }: Extract<Item, { kind: "userMessage" }>): number {
  return images.reduce((sum, image) => sum + image.length, text.length);
}

/** Drops deltas of completed items, and merges the deltas of an item in progress. No text is lost. */
export function condenseEvents(entries: readonly Entry<ThreadEvent>[], cursors: readonly number[]): Entry<ThreadEvent>[] {
  const complete = new Set<string>();
  for (const { value } of entries) {
    if (value.type === "itemCompleted") complete.add(value.item.id);
    if (value.type === "commandEnded") complete.add(value.callId);
  }
  const kept: Entry<ThreadEvent>[] = [];
  for (const entry of entries) {
    if (entry.value.type === "commandOutput" && complete.has(entry.value.callId)) continue;
    if (!isDelta(entry.value)) {
      kept.push(entry);
      continue;
    }
    if (complete.has(entry.value.itemId)) continue;
    const previous = kept.at(-1);
    const apart = previous === undefined || cursors.some((cursor) => previous.seq <= cursor && cursor < entry.seq);
    const joined = apart ? undefined : joinDeltas(previous.value, entry.value);
    // The merged entry gets the later number, so that a reader who received it resumes after its last part.
    if (previous && joined) kept[kept.length - 1] = { seq: entry.seq, since: previous.since ?? previous.seq, value: joined };
    else kept.push(entry);
  }
  return kept;
}

function isDelta(event: ThreadEvent): event is Delta {
  return event.type === "messageDelta" || event.type === "reasoningDelta" || event.type === "rawReasoningDelta";
}

function joinDeltas(first: ThreadEvent, second: Delta): Delta | undefined {
  if (!isDelta(first) || first.type !== second.type || first.itemId !== second.itemId) return undefined;
  if (first.type === "reasoningDelta" && second.type === "reasoningDelta" && first.summaryIndex !== second.summaryIndex) return undefined;
  if (first.type === "rawReasoningDelta" && second.type === "rawReasoningDelta" && first.contentIndex !== second.contentIndex)
    return undefined;
  return { ...first, delta: first.delta + second.delta };
}

/** What a turn keeps for readers that lag behind or reconnect. */
export const TURN_LOG: MemoryLogOptions<ThreadEvent> = { limit: 8 * 1024 * 1024, weigh: weighEvent, condense: condenseEvents };

/** The index of the first entry after this number. Entries are sorted; numbers may have gaps, because condensing removes some. */
export function indexAfter(entries: readonly { readonly seq: number }[], seq: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
