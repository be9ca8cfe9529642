import type { ThreadId, TurnKey } from "../lib/ids.js";

/** One event in a log. Sequence numbers increase; numbers of events that a later one replaced are missing. */
export interface Entry<T> {
  readonly seq: number;
  /** The entry replaces all entries from this number on: a reader that has some of them gets the rest with it. Absent: it replaces none. */
  readonly since?: number;
  readonly value: T;
}

export interface LogReading {
  /** The number of the last event the reader has received. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** A readable log, on any node. Contract suite: test/contracts/eventLog.ts. */
export interface LogReader<T> {
  /** Yields the entries after `after`, then new ones, in batches as they become available; returns at the log's end or on abort. */
  read(reading?: LogReading): AsyncGenerator<readonly Entry<T>[]>;
}

/** One writer, many readers, each with its own position. Events are numbered from 1, so that a reader can resume. */
export interface EventLog<T> extends LogReader<T> {
  /** The number of events appended so far. */
  readonly size: number;
  /** Numbers the events. Does not wait for readers: unread events are kept for them. Ignored after the end. */
  append(values: readonly T[]): void;
  end(): void;
}

/** Identifies a turn's log. */
export interface TurnAddress {
  readonly threadId: ThreadId;
  readonly turn: TurnKey;
}

/** The logs of turns. Only the node that runs a turn creates its log and appends to it; every node can find it. */
export interface EventLogs<T> {
  create(turn: TurnAddress): EventLog<T>;
  /**
   * The log of a running or recently ended turn. Undefined once it is dropped: the thread's history then still has the content, without
   * numbers.
   */
  find(turn: TurnAddress): Promise<LogReader<T> | undefined>;
}
