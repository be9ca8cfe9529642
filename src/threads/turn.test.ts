import { afterEach, describe, expect, it, vi } from "vitest";
import { newThreadId, turnIdOf } from "../lib/ids.js";
import type { ThreadEvent, TurnEnd, TurnOutcome } from "./events.js";
import { Turn } from "./turn.js";

const ABORTED: ThreadEvent = { type: "turnAborted", reason: "interrupted" };
const STARTED: ThreadEvent = { type: "turnStarted", contextWindow: null };

afterEach(() => vi.useRealTimers());

function queuedTurn(): Turn {
  return new Turn(newThreadId(), turnIdOf("0"), { text: "go" });
}

function runningTurn(): Turn {
  const turn = queuedTurn();
  turn.begin();
  return turn;
}

async function eventsOf(turn: Turn): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const batch of turn.log.read()) events.push(...batch.map(({ value }) => value));
  return events;
}

describe("a turn ends", () => {
  const ends: [TurnEnd, TurnOutcome][] = [
    [
      { type: "turnCompleted", lastMessage: "done" },
      { status: "completed", lastMessage: "done" },
    ],
    [
      { type: "turnFailed", message: "no model", info: "other" },
      { status: "failed", message: "no model" },
    ],
    [{ type: "turnAborted", reason: "interrupted" }, { status: "interrupted" }],
  ];

  it.for(ends)("with %o as %o", async ([end, outcome]) => {
    const turn = runningTurn();
    turn.publish([STARTED]);
    expect(turn.ended).toBe(false);
    turn.publish([{ type: "warning", message: "almost" }, end]);
    expect([turn.ended, await turn.outcome, await eventsOf(turn)]).toEqual([
      true,
      outcome,
      [STARTED, { type: "warning", message: "almost" }, end],
    ]);
  });

  it("once: later events are not part of it", async () => {
    const turn = runningTurn();
    turn.publish([{ type: "turnCompleted", lastMessage: "first" }]);
    turn.publish([{ type: "turnFailed", message: "second", info: "other" }]);
    turn.interrupt();
    expect([await turn.outcome, await eventsOf(turn), turn.signal.aborted]).toEqual([
      { status: "completed", lastMessage: "first" },
      [{ type: "turnCompleted", lastMessage: "first" }],
      false,
    ]);
  });
});

describe("an interrupted turn", () => {
  it("ends at once while it is queued, and never begins", async () => {
    const turn = queuedTurn();
    turn.interrupt();
    expect([await turn.outcome, await eventsOf(turn), turn.signal.aborted, turn.begin()]).toEqual([
      { status: "interrupted" },
      [ABORTED],
      true,
      false,
    ]);
  });

  it("is notified by its signal and ends as its engine reports", async () => {
    vi.useFakeTimers();
    const turn = runningTurn();
    turn.interrupt();
    expect([turn.signal.aborted, turn.ended]).toEqual([true, false]);
    turn.publish([{ type: "warning", message: "cleaning up" }, ABORTED]);
    expect([await turn.outcome, await eventsOf(turn)]).toEqual([
      { status: "interrupted" },
      [{ type: "warning", message: "cleaning up" }, ABORTED],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("may still complete if the engine had finished already", async () => {
    const turn = runningTurn();
    turn.interrupt();
    turn.publish([{ type: "turnCompleted", lastMessage: "just in time" }]);
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "just in time" });
  });

  it("is ended without its engine when that does not stop within two seconds", async () => {
    vi.useFakeTimers();
    const turn = runningTurn();
    const abandoned = vi.fn();
    void turn.abandoned.then(abandoned);
    turn.publish([STARTED]);
    turn.interrupt();
    await vi.advanceTimersByTimeAsync(1_000);
    turn.interrupt();
    await vi.advanceTimersByTimeAsync(999);
    expect([turn.ended, abandoned.mock.calls]).toEqual([false, []]);
    await vi.advanceTimersByTimeAsync(1);
    expect([await turn.outcome, await eventsOf(turn), abandoned.mock.calls.length]).toEqual([
      { status: "interrupted" },
      [STARTED, ABORTED],
      1,
    ]);
  });
});
