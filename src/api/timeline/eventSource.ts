import type { ApiEvent } from "../schemas/events.js";

/** An event and the place after it. */
export interface PlacedEvent {
  readonly id: string;
  readonly event: ApiEvent;
}

/** Events of one kind of stream, from a place on. */
export interface EventSource {
  /** Everything up to here has been told, or is not for this reader. */
  readonly place: string;
  read(): AsyncGenerator<PlacedEvent>;
}

/** A place in a thread's events: in the server's feed and, while a turn runs, in the log of that turn. */
export interface EventCursor {
  /** The feed's own cursor. */
  readonly feed: string;
  /** The turn that was begun with this number of the feed, and the last of its events that was told. */
  readonly turn?: { readonly begun: number; readonly seq: number } | undefined;
}

/** `<feed>-<number>` or `<feed>-<number>.<begun>.<seq>`: may go into a URL, a header and an `id:` line as it is. */
export function formatCursor({ feed, turn }: EventCursor): string {
  return turn ? `${feed}.${turn.begun}.${turn.seq}` : feed;
}

const CURSOR = /^([0-9a-f]{8}-\d{1,15})(?:\.(\d{1,15})\.(\d{1,15}))?$/;

/** Undefined for what is no cursor. One of another server has the same form. */
export function parseCursor(text: string): EventCursor | undefined {
  const [, feed, begun, seq] = CURSOR.exec(text) ?? [];
  if (feed === undefined) return undefined;
  return begun === undefined ? { feed } : { feed, turn: { begun: Number(begun), seq: Number(seq) } };
}

/** The feed's cursor of the entry with a number, by another cursor of the same feed. */
export function feedCursorAt(feed: string, number: number): string {
  return `${feed.slice(0, feed.lastIndexOf("-"))}-${number}`;
}

/** A reader has to look at the thread itself. */
export function resetEvent(): ApiEvent {
  return { type: "reset", at: new Date().toISOString(), reason: "Some events are no longer kept. Read the threads and items again." };
}
