import { type ThreadId, type TurnKey, threadIdOf, turnKeyOf } from "../lib/ids.js";

/** One event in a log. Numbers grow; those of events that a later one made superfluous are missing. */
export interface Entry<T> {
  readonly seq: number;
  /** The entry also stands for those before it, from this number on: whoever has some of them has the rest in it as well. Absent: for itself alone. */
  readonly since?: number;
  readonly value: T;
}

export interface LogReading {
  /** The number of the last event that the reader has. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** A log to read, on whichever node. Contract suite: test/contracts/eventLog.ts. */
export interface LogReader<T> {
  /** What is there after `after`, then what comes, in batches as they become available; returns at the log's end or on abort. */
  read(reading?: LogReading): AsyncGenerator<readonly Entry<T>[]>;
}

/** One writer, many readers, each at its own place; numbered from 1, so that a reader can come back where it left. */
export interface EventLog<T> extends LogReader<T> {
  /** How many events were appended. */
  readonly size: number;
  /** Numbers the events, and does not wait for readers: what they have not read is kept for them. Nothing after the end. */
  append(values: readonly T[]): void;
  end(): void;
}

/** Where the events of a turn are. */
export interface TurnAddress {
  readonly threadId: ThreadId;
  readonly turn: TurnKey;
}

/** The logs of turns. Only the node that runs a turn creates its log and appends to it; every node finds it. */
export interface EventLogs<T> {
  create(turn: TurnAddress): EventLog<T>;
  /**
   * The log of a turn that runs, or has ended not long ago. Undefined when nobody has it any more: what was said in that turn is in the
   * thread's history then, without numbers.
   */
  find(turn: TurnAddress): Promise<LogReader<T> | undefined>;
}

/** Names one event, on every node and for ever. As a cursor: everything up to this event has been seen; 0 is before the first. */
export interface EventId extends TurnAddress {
  readonly seq: number;
}

/** `<thread>.<turn>.<number>`: may go into a URL, a header and an `id:` line as it is. */
export function formatEventId({ threadId, turn, seq }: EventId): string {
  return `${threadId}.${turn}.${seq}`;
}

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const EVENT_ID = new RegExp(`^(${UUID})\\.(${UUID})\\.(0|[1-9]\\d{0,14})$`);

/** Undefined for what is no event id. */
export function parseEventId(text: string): EventId | undefined {
  const [, threadId, turn, seq] = EVENT_ID.exec(text) ?? [];
  if (threadId === undefined || turn === undefined) return undefined;
  return { threadId: threadIdOf(threadId), turn: turnKeyOf(turn), seq: Number(seq) };
}
