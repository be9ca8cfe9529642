import type { ApiEvent } from "../schemas/events.js";

/** An event and the cursor after it. */
export interface PlacedEvent {
  readonly id: string;
  readonly event: ApiEvent;
}

/** The events of one stream, from a cursor on. */
export interface EventSource {
  /** Everything up to here was sent, or is not for this reader. */
  readonly place: string;
  read(): AsyncGenerator<PlacedEvent>;
}

/** A position in a thread's events: in the server's feed and, while a turn runs, in that turn's log. */
export interface EventCursor {
  /** The feed's own cursor. */
  readonly feed: string;
  /** The feed number of the running turn's start, and the turn's last event that was sent. */
  readonly turn?: { readonly begun: number; readonly seq: number } | undefined;
}

/** `<feed>-<number>` or `<feed>-<number>.<begun>.<seq>`: valid unescaped in a URL, a header and an `id:` line. */
export function formatCursor({ feed, turn }: EventCursor): string {
  return turn ? `${feed}.${turn.begun}.${turn.seq}` : feed;
}

const CURSOR = /^([0-9a-f]{8}-\d{1,15})(?:\.(\d{1,15})\.(\d{1,15}))?$/;

/** Undefined for invalid text. A cursor of another server has the same form. */
export function parseCursor(text: string): EventCursor | undefined {
  const [, feed, begun, seq] = CURSOR.exec(text) ?? [];
  if (feed === undefined) return undefined;
  return begun === undefined ? { feed } : { feed, turn: { begun: Number(begun), seq: Number(seq) } };
}

/** The feed's cursor for an entry number, derived from another cursor of the same feed. */
export function feedCursorAt(feed: string, number: number): string {
  return `${feed.slice(0, feed.lastIndexOf("-"))}-${number}`;
}

/** The reader must reload the thread. */
export function resetEvent(): ApiEvent {
  return { type: "reset", at: new Date().toISOString(), reason: "Some events are no longer kept. Read the threads and items again." };
}
