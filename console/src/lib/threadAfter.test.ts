import { describe, expect, it } from "vitest";
import type { ApiEvent } from "../../../src/api/schemas/events.js";
import type { ThreadResource } from "../../../src/api/schemas/threads.js";
import { summaryAfter, threadAfter } from "./threadAfter.js";

const OF_TURN = { threadId: "01a1dd1a-6d22-73e1-88aa-ccf523ae5caa", turnId: "one", at: "2026-11-16T16:00:00.000Z" };
// The tests use only the id of a turn.
const turn = (id: string) => ({ id }) as ThreadResource["turns"][number];
const WAITING = {
  state: "waiting",
  activity: { ms: 5, step: { kind: "waiting", text: "touch x" }, queued: 0, approvals: ["q"] },
  turns: [turn("one")],
} as unknown as ThreadResource;
const SETTLED: ApiEvent = {
  ...OF_TURN,
  type: "approval.settled",
  approvalId: "q",
  settlement: { decision: "approved", by: "console", who: null, at: OF_TURN.at },
};
const ENDED: ApiEvent = { ...OF_TURN, type: "turn.ended", status: "completed" };

describe("the state of a thread after an event", () => {
  it("is idle only when its last turn has ended", () => {
    expect(threadAfter(WAITING, ENDED)).toMatchObject({ state: "idle", activity: null, turns: [] });
    const two = { ...WAITING, turns: [turn("one"), turn("two")] };
    expect(threadAfter(two, ENDED)).toMatchObject({ state: "waiting", turns: [{ id: "two" }] });
    expect(threadAfter(WAITING, { ...ENDED, turnId: "another" })).toMatchObject({ state: "waiting" });
  });

  it("is the same in lists", () => {
    expect(summaryAfter(WAITING, SETTLED)).toMatchObject({ state: "running", activity: { approvals: [] } });
    expect(summaryAfter(WAITING, ENDED)).toMatchObject({ state: "idle", activity: null });
    const queued = { ...WAITING, activity: WAITING.activity && { ...WAITING.activity, queued: 1 } };
    expect(summaryAfter(queued, ENDED)).toBe(queued);
  });

  it("is waiting while a question is open", () => {
    expect(threadAfter(WAITING, SETTLED)).toMatchObject({ state: "running", activity: { approvals: [] } });
    const asked = threadAfter(WAITING, { ...OF_TURN, type: "approval.asked", approvalId: "r", kind: "command" });
    expect(threadAfter(asked, SETTLED)).toMatchObject({ state: "waiting", activity: { approvals: ["r"] } });
  });
});
