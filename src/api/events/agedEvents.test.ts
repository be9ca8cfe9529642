import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.js";
import { OwnToolsStage } from "../../../test/support/memory/ownToolsStage.js";
import { newThreadId, type ThreadId, turnIdOf } from "../../lib/ids.js";
import { type EventSource, type PlacedEvent, parseCursor } from "../timeline/eventSource.js";
import { ThreadTimeline } from "../timeline/threadTimeline.js";
import { ServerStream } from "./serverStream.js";
import { ThreadStream } from "./threadStream.js";

/** More than the feed keeps. */
const MANY = 10_100;

function ask(signal = new AbortController().signal) {
  return { caller: undefined, signal };
}

/** Adds so many events of other threads that the feed drops all earlier ones. */
function makeOld({ agent: { feed } }: OwnToolsStage): void {
  for (let at = 0; at < MANY; at++) feed.threadChanged(newThreadId(), { change: "renamed", name: `name ${at}`, owner: undefined });
}

async function until(open: (signal: AbortSignal) => EventSource, isLast: (placed: PlacedEvent) => boolean): Promise<PlacedEvent[]> {
  const gone = new AbortController();
  const seen: PlacedEvent[] = [];
  for await (const placed of open(gone.signal).read()) {
    seen.push(placed);
    if (!isLast(placed)) continue;
    // A stream that waits for its next event ends with its signal.
    gone.abort();
    break;
  }
  return seen;
}

async function place(stage: OwnToolsStage, threadId: ThreadId) {
  const { eventsAfter } = (await ThreadTimeline.read(stage.agent, ask(), threadId)).page({ limit: 10, order: "newest" });
  const cursor = parseCursor(eventsAfter);
  if (!cursor) throw new Error(`${eventsAfter} is no cursor`);
  return cursor;
}

it("a reader that returns too late gets a reset, and continues from there without a gap", async () => {
  await using stage = new OwnToolsStage();
  const { agent } = stage;
  const first = await agent.begin(ask(), { text: "one" }, { turnId: turnIdOf("1") });
  await first.outcome;
  const { threadId } = first;
  const old = await place(stage, threadId);
  makeOld(stage);
  const [reset] = await until(
    (signal) => new ThreadStream({ agent, ask: ask(signal), threadId, after: old }),
    () => true,
  );
  expect(reset?.event.type).toBe("reset");

  const after = await place(stage, threadId);
  const next = await agent.reply(ask(), threadId, { text: "two" });
  await next.outcome;
  const seen = await until(
    (signal) => new ThreadStream({ agent, ask: ask(signal), threadId, after }),
    ({ event }) => event.type === "turn.ended",
  );
  const types = seen.map(({ event }) => event.type);
  expect(types.slice(0, 2)).toEqual(["turn.queued", "turn.started"]);
  expect(types.filter((type) => type === "reset" || type === "turn.ended")).toEqual(["turn.ended"]);
  expect(types).toContain("item.completed");
});

it("a cursor inside a turn whose log is gone gets a reset", async () => {
  await using stage = new OwnToolsStage();
  const { agent } = stage;
  const turn = await agent.begin(ask(), { text: "one" }, { turnId: turnIdOf("1") });
  await turn.outcome;
  const begun = agent.feed.lastOf(undefined, "turnBegun", ({ turnKey }) => turnKey === turn.key);
  const after = { feed: agent.feed.now, turn: { begun: begun?.number ?? 0, seq: 1 } };
  makeOld(stage);
  const [reset] = await until(
    (signal) => new ThreadStream({ agent, ask: ask(signal), threadId: turn.threadId, after }),
    () => true,
  );
  expect(reset?.event.type).toBe("reset");
});

it("the server's stream sends a reset as well, and continues from the newest event", async () => {
  await using stage = new OwnToolsStage();
  const { agent } = stage;
  const after = agent.feed.now;
  makeOld(stage);
  const [reset] = await until(
    (signal) => new ServerStream({ agent, ask: ask(signal), after }),
    () => true,
  );
  expect(reset).toMatchObject({ id: agent.feed.now, event: { type: "reset" } });
});

it("a turn that still runs is followed, however many events of others came after its beginning", async () => {
  await using stage = new OwnToolsStage();
  const { agent } = stage;
  const turn = await agent.begin(ask(), { text: "hang" }, { turnId: turnIdOf("1") });
  const { threadId, key } = turn;
  await eventually("the turn's first event", () => (turn.log.size > 0 ? true : undefined));
  const old = await place(stage, threadId);
  makeOld(stage);
  const now = await place(stage, threadId);
  expect([now.turn, now.feed]).toEqual([old.turn, agent.feed.now]);

  agent.feed.threadChanged(threadId, { change: "renamed", name: "one", owner: undefined });
  const seen = await until(
    (signal) => new ThreadStream({ agent, ask: ask(signal), threadId, after: now }),
    ({ event }) => {
      if (event.type === "thread.changed") turn.interrupt();
      return event.type === "turn.ended";
    },
  );
  expect(seen.filter(({ event }) => event.type === "reset")).toEqual([]);
  makeOld(stage);
  expect(agent.feed.lastOf(undefined, "turnBegun", ({ turnKey }) => turnKey === key)).toBeUndefined();
});
