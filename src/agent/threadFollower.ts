import type { ThreadId, TurnId, TurnKey } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import type { ThreadRegistry } from "../threads/threadRegistry.js";
import type { Asker } from "./access.js";
import type { Attendance } from "./attendance.js";
import type { Feed } from "./feed.js";

/** Some of a turn's events, in their order. */
export interface FollowedBatch {
  readonly turn: ToldTurn;
  readonly events: readonly ThreadEvent[];
}

export interface ToldTurn {
  readonly id: TurnId;
  readonly key: TurnKey;
}

interface FollowerParts {
  readonly feed: Feed;
  readonly threads: ThreadRegistry;
  readonly attendance: Attendance;
}

interface Following extends Asker {
  readonly threadId: ThreadId;
  /**
   * A cursor of the feed: turns requested after it are included, even if they have ended. Absent: running and queued turns, and later ones.
   */
  readonly since?: string | undefined;
}

/** The number of turns remembered as already followed. A thread never has that many pending turns. */
const MOST_REMEMBERED = 1_024;

/**
 * Every event of a thread's turns, each once and in order, until the signal aborts. Followers are independent: none takes events from
 * another, and a slow one delays nobody. A follower counts as attending the turn.
 */
export function followThread(parts: FollowerParts, following: Following): AsyncGenerator<FollowedBatch> {
  const { feed, threads } = parts;
  const { since } = following;
  // The start is fixed now, not when the first event is read.
  return tellFrom(
    { after: since ?? feed.now, running: since === undefined ? threads.runningTurns(following.threadId) : [] },
    parts,
    following,
  );
}

interface Beginning {
  readonly after: string;
  readonly running: readonly ToldTurn[];
}

async function* tellFrom({ after, running }: Beginning, parts: FollowerParts, following: Following): AsyncGenerator<FollowedBatch> {
  const { feed, threads } = parts;
  const { threadId, caller, signal } = following;
  const told = new Set<TurnKey>();
  const tell = async function* (turns: readonly ToldTurn[]): AsyncGenerator<FollowedBatch> {
    for (const { id, key } of turns) {
      if (told.has(key) || signal.aborted) continue;
      told.add(key);
      if (told.size > MOST_REMEMBERED) for (const oldest of [...told].slice(0, told.size - MOST_REMEMBERED)) told.delete(oldest);
      yield* eventsOf({ id, key }, parts, following);
    }
  };
  yield* tell(running);
  for await (const entry of feed.read(caller, { after, signal })) {
    if (entry.type === "gap") yield* tell(threads.runningTurns(threadId));
    else if (entry.type === "turnQueued" && entry.threadId === threadId) yield* tell([{ id: entry.turnId, key: entry.turnKey }]);
  }
}

async function* eventsOf(
  turn: ToldTurn,
  { threads, attendance }: FollowerParts,
  { threadId, signal }: Following,
): AsyncGenerator<FollowedBatch> {
  const running = threads.runningTurns(threadId).find(({ key }) => key === turn.key);
  const log = running?.log ?? (await threads.events({ threadId, turn: turn.key }));
  if (!log) return;
  using visit = running && attendance.visit(running);
  for await (const batch of log.read({ signal })) yield { turn, events: batch.map(({ value }) => value) };
  if (running?.ended) visit?.received();
}
