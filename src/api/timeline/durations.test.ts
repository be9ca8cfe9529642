import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newThreadId, turnIdOf } from "../../lib/ids.js";
import type { StoredMoment } from "../../threads/store.js";
import { Turn } from "../../threads/turn.js";
import { StoredItems } from "./storedItems.js";
import { TurnItems } from "./turnItems.js";

const NOON = Date.parse("2026-11-16T12:00:00.000Z");
const HOUR = 3_600_000;

/** The duration in the summary of a turn with these moments. */
function storedMs(...moments: StoredMoment[]): unknown {
  const items = new StoredItems();
  for (const moment of moments) items.take(moment);
  return items.items.flatMap((item) => (item.type === "turnSummary" ? [item.ms] : []));
}

describe("how long a turn took, when the clock was set meanwhile", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOON }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ["back", -HOUR],
    ["forward", HOUR],
  ])("is the measured one: %s by an hour", (_, by) => {
    const turn = new Turn(newThreadId(), turnIdOf("1"), { text: "x" });
    turn.begin();
    vi.setSystemTime(NOON + by);
    turn.publish([{ type: "turnCompleted", lastMessage: null }]);
    const ms = turn.ranMs;
    expect(ms > 0 && ms < HOUR).toBe(true);
    const items = new TurnItems({ threadId: turn.threadId, turnId: turn.key, ranMs: () => turn.ranMs });
    items.take({ type: "turnCompleted", lastMessage: null });
    // The duration does not grow if it is read later.
    expect(items.items).toMatchObject([{ type: "turnSummary", ms }]);
  });

  it("is the recorded duration, or the difference of the times, and unknown if the clock went back", () => {
    const begun: StoredMoment = { type: "turnStarted", at: NOON };
    const ended = { type: "turnEnded", error: null } as const;
    expect(storedMs(begun, { ...ended, at: NOON - HOUR, ms: 1_500 })).toEqual([1_500]);
    expect(storedMs(begun, { type: "interrupted", at: NOON + HOUR, ms: 0 })).toEqual([0]);
    expect(storedMs(begun, { ...ended, at: NOON + 2_000 })).toEqual([2_000]);
    expect(storedMs(begun, { ...ended, at: NOON - HOUR })).toEqual([null]);
  });
});
