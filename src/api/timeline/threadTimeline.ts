import type { Agent, Ask } from "../../agent/agent.js";
import type { ThreadId, TurnKey } from "../../lib/ids.js";
import { InvalidCursor } from "../../threads/errors.js";
import type { StoredStory } from "../../threads/store.js";
import type { Turn } from "../../threads/turn.js";
import { ApiProblem } from "../base/problems.js";
import type { PlanSteps } from "../schemas/common.js";
import type { ItemPage, TimelineItem } from "../schemas/items.js";
import { type EventCursor, formatCursor } from "./eventSource.js";
import { LONGEST_WHOLE_TEXT } from "./shownTexts.js";
import { StoredCache, storedCacheOf } from "./storedCache.js";
import type { StoredItems } from "./storedItems.js";
import { TurnItems } from "./turnItems.js";

/** The size limit of a page, however few items that allows. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** The limit of attempts when new turns begin faster than the thread can be read. */
const MOST_ATTEMPTS = 3;

export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** `newest`: pages from the end to the beginning; `oldest`: the other way. */
  readonly order: "newest" | "oldest";
}

/** A snapshot of a thread: its record, and the events of the running turn. */
export class ThreadTimeline {
  readonly items: readonly TimelineItem[];
  readonly stored: StoredItems;
  readonly isArchived: boolean;
  readonly title: string | undefined;
  readonly plan: PlanSteps | undefined;
  readonly diff: string | undefined;
  /** The cursor of the thread's events after this snapshot. */
  readonly eventsAfter: string;

  private constructor(
    { stored, story, running }: { stored: StoredItems; story: StoredStory; running: RunningItems | undefined },
    after: EventCursor,
  ) {
    this.stored = stored;
    this.isArchived = story.isArchived;
    this.title = story.title;
    this.items = running ? withRunning(stored, running.items) : stored.items;
    this.plan = running?.items.plan ?? stored.plan;
    this.diff = running?.items.diff;
    this.eventsAfter = formatCursor(after);
  }

  static read(agent: Agent, ask: Ask, threadId: ThreadId, { whole = false } = {}): Promise<ThreadTimeline> {
    return agent.reading(ask, () => ThreadTimeline.#readNow(agent, ask, threadId, whole));
  }

  static async #readNow(agent: Agent, ask: Ask, threadId: ThreadId, whole: boolean): Promise<ThreadTimeline> {
    const longest = whole ? LONGEST_WHOLE_TEXT : undefined;
    const costOf = agent.costOf.bind(agent);
    for (let attempt = 1; ; attempt++) {
      // Read before the record: anything the turn adds meanwhile is then in both, and the events take precedence.
      const { after, running } = await runningItems(agent, ask, threadId, longest);
      const story = await agent.story(ask, threadId);
      // Items with complete texts are for one reader, and may be many times as large.
      const cache = whole ? new StoredCache() : storedCacheOf(agent);
      const stored = await cache.read(threadId, story, { longest, costOf, turn: running?.recorded, signal: ask.signal });
      // A turn that began meanwhile would appear twice: in the record and in its events.
      const begun = agent.feed.lastOf(ask.caller, "turnBegun", (entry) => entry.threadId === threadId);
      if (attempt < MOST_ATTEMPTS && begun && begun.number > numberOf(after.feed)) continue;
      return new ThreadTimeline({ stored, story, running }, after);
    }
  }

  /** Throws `InvalidCursor`. */
  page({ limit, cursor, order }: PageQuery): ItemPage {
    const { items } = this;
    const at = cursor === undefined ? (order === "newest" ? items.length : 0) : placeOf(cursor);
    if (at > items.length) throw new InvalidCursor();
    const { from, to } = order === "newest" ? backwards(items, at, limit) : forwards(items, at, limit);
    const next = order === "newest" ? from : to;
    const isLast = order === "newest" ? from === 0 : to === items.length;
    return { items: items.slice(from, to), nextCursor: isLast ? null : String(next), eventsAfter: this.eventsAfter };
  }

  item(id: string): TimelineItem {
    const found = this.items.findLast((item) => item.id === id);
    if (!found) throw new ApiProblem("item_not_found", `The thread has no item ${id.slice(0, 100)}.`);
    return found;
  }
}

interface RunningItems {
  readonly items: TurnItems;
  /** The turn, if the record already contains its start. That holds if its first message is in its events, because messages are recorded first. */
  readonly recorded: TurnKey | undefined;
}

/** The items from the running turn's events so far, and the cursor after them. */
async function runningItems(
  agent: Agent,
  ask: Ask,
  threadId: ThreadId,
  longest: number | undefined,
): Promise<{ readonly after: EventCursor; readonly running: RunningItems | undefined }> {
  const turn = (await agent.runningTurns(ask, threadId)).find(({ begunAt }) => begunAt !== undefined);
  const begun = turn && agent.feed.lastOf(ask.caller, "turnBegun", ({ turnKey }) => turnKey === turn.key);
  const feed = agent.feed.now;
  if (!turn || !begun) return { after: { feed }, running: undefined };
  const until = turn.log.size;
  const items = new TurnItems({ threadId, turnId: turn.key, ranMs: () => turn.ranMs, costOf: agent.costOf.bind(agent) }, longest);
  await foldUntil(turn, until, items);
  const recorded = firstOf(items) && turn.key;
  return { after: { feed, turn: { begun: begun.number, seq: until } }, running: { items, recorded } };
}

async function foldUntil(turn: Turn, until: number, items: TurnItems): Promise<void> {
  if (until === 0) return;
  for await (const batch of turn.log.read())
    for (const { seq, value } of batch) {
      if (seq > until) return;
      items.take(value);
      if (seq === until) return;
    }
}

/** The running turn's events replace what the record has of it. */
function withRunning(stored: StoredItems, running: TurnItems): readonly TimelineItem[] {
  const first = firstOf(running);
  const times = new Map(stored.items.map(({ id, at }) => [id, at]));
  const isFirst = (item: TimelineItem) => first !== undefined && item.type === first.type && textOf(item) === textOf(first);
  const begun = stored.items.findLast(isFirst);
  const told = running.items.map((item) => ({ ...item, at: (item === first ? begun?.at : times.get(item.id)) ?? item.at }));
  return [...stored.before(isFirst), ...told];
}

/** The item with which a turn begins. */
function firstOf({ items }: TurnItems): TimelineItem | undefined {
  return items.find(({ type }) => type === "userMessage" || type === "review" || type === "compaction");
}

function numberOf(feedCursor: string): number {
  return Number(feedCursor.slice(feedCursor.lastIndexOf("-") + 1));
}

function textOf(item: TimelineItem): string {
  return item.type === "userMessage" ? item.text : item.type === "review" ? item.hint : "";
}

function placeOf(cursor: string): number {
  if (!/^\d{1,9}$/.test(cursor)) throw new InvalidCursor();
  return Number(cursor);
}

function backwards(items: readonly TimelineItem[], end: number, limit: number): { from: number; to: number } {
  let [from, bytes] = [end, 0];
  while (from > 0 && end - from < limit) {
    bytes += weightOf(items[from - 1]);
    if (bytes > PAGE_BYTES && from < end) break;
    from--;
  }
  return { from, to: end };
}

function forwards(items: readonly TimelineItem[], start: number, limit: number): { from: number; to: number } {
  let [to, bytes] = [start, 0];
  while (to < items.length && to - start < limit) {
    bytes += weightOf(items[to]);
    if (bytes > PAGE_BYTES && to > start) break;
    to++;
  }
  return { from: start, to };
}

/** The approximate size in the response. */
function weightOf(item: TimelineItem | undefined): number {
  return item ? JSON.stringify(item).length : 0;
}
