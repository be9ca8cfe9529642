import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import type { ApprovalId, ApprovalRequest } from "../approvals/model.js";
import { newThreadId, turnIdOf } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import { Turn } from "../threads/turn.js";
import { Attendance } from "./attendance.js";
import type { Principal } from "./caller.js";

const DONE: ThreadEvent = { type: "turnCompleted", lastMessage: "ok" };
const WISH = { input: { text: "mend it" }, on: settingsIn("/repo") };
const MINUTE = 60_000;

class Ground {
  readonly reported: string[] = [];
  readonly attendance = new Attendance({ unattendedMs: 15 * MINUTE, report: (line) => this.reported.push(line) });
  readonly thread = newThreadId();

  begin(wish = WISH, principal?: Principal): Turn {
    const turn = new Turn(this.thread, turnIdOf("1"), { ...wish.input, watch: this.attendance.watch(wish, principal) });
    turn.begin();
    return turn;
  }
}

function question(id: string): ApprovalRequest {
  const subject = {
    kind: "form",
    callId: "c",
    server: "s",
    message: "",
    requestedSchema: {},
    staysInSandbox: true,
    needsPerson: true,
  } as const;
  return { id: id as ApprovalId, threadId: newThreadId(), turnId: turnIdOf("1"), subject, deadline: 0 };
}

const asked = (id: string): ThreadEvent => ({ type: "approvalRequested", request: question(id) });
const decided = (id: string): ThreadEvent => ({ type: "approvalDecided", id: id as ApprovalId, decision: { kind: "denied" } });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a turn without a client", () => {
  it("ends after a quarter of an hour, and the reason is reported", () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).leave();
    vi.advanceTimersByTime(15 * MINUTE - 1);
    expect(turn.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect([turn.signal.aborted, turn.interruption, ground.reported]).toEqual([
      true,
      "it was unattended for 900 s",
      [`a turn of thread ${ground.thread} was interrupted: it was unattended for 900 s`],
    ]);
  });

  it("has its full time again after each visit", () => {
    const ground = new Ground();
    const turn = ground.begin();
    for (let visits = 0; visits < 10; visits++) {
      const visit = ground.attendance.visit(turn);
      vi.advanceTimersByTime(60 * MINUTE);
      visit.leave();
      vi.advanceTimersByTime(14 * MINUTE);
    }
    expect(turn.signal.aborted).toBe(false);
  });

  it("is attended while at least one of several callers is there", () => {
    const ground = new Ground();
    const turn = ground.begin();
    const [one, other] = [ground.attendance.visit(turn), ground.attendance.visit(turn)];
    one.leave();
    one.leave();
    vi.advanceTimersByTime(60 * MINUTE);
    expect(turn.signal.aborted).toBe(false);
    other.leave();
    vi.advanceTimersByTime(15 * MINUTE);
    expect(turn.signal.aborted).toBe(true);
  });

  it("waits for the answer to a question; its time begins with the answer", async () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).leave();
    turn.publish([asked("q")]);
    vi.advanceTimersByTime(60 * MINUTE);
    expect(turn.signal.aborted).toBe(false);
    turn.publish([decided("q")]);
    vi.advanceTimersByTime(15 * MINUTE);
    expect(turn.signal.aborted).toBe(true);
  });

  it("leaves no timer behind when it ends by itself", () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).leave();
    turn.publish([DONE]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a turn whose client vanished", () => {
  it("ends at once", () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).vanish();
    expect(turn.signal.aborted).toBe(true);
  });

  it("continues for its other callers", () => {
    const ground = new Ground();
    const turn = ground.begin();
    const other = ground.attendance.visit(turn);
    ground.attendance.visit(turn).vanish();
    expect(turn.signal.aborted).toBe(false);
    other.vanish();
    expect(turn.signal.aborted).toBe(true);
  });

  it("waits while a question is open, which others may answer, and ends then", () => {
    const ground = new Ground();
    const turn = ground.begin();
    const visit = ground.attendance.visit(turn);
    turn.publish([asked("q")]);
    visit.vanish();
    expect(turn.signal.aborted).toBe(false);
    turn.publish([decided("q")]);
    expect(turn.signal.aborted).toBe(true);
  });

  it("has its full time again after another caller's visit", () => {
    const ground = new Ground();
    const turn = ground.begin();
    const visit = ground.attendance.visit(turn);
    turn.publish([asked("q")]);
    visit.vanish();
    ground.attendance.visit(turn).leave();
    turn.publish([decided("q")]);
    expect(turn.signal.aborted).toBe(false);
  });
});

describe("the end of a turn", () => {
  it("is kept until a caller has received it", () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).leave();
    turn.publish([DONE]);
    expect(ground.attendance.on(ground.thread).map((attended) => attended.turn)).toEqual([turn]);
    ground.attendance.visit(turn).received();
    expect(ground.attendance.on(ground.thread)).toEqual([]);
  });

  it("is not kept for a turn that was never visited", () => {
    const ground = new Ground();
    ground.begin().publish([DONE]);
    expect(ground.attendance.on(ground.thread)).toEqual([]);
  });

  it("is kept for the 64 that ended last, and for all running ones", () => {
    const ground = new Ground();
    const running = Array.from({ length: 3 }, () => ground.begin());
    const ended = Array.from({ length: 70 }, () => ground.begin());
    for (const turn of [...running, ...ended]) ground.attendance.visit(turn).leave();
    for (const turn of ended) turn.publish([DONE]);
    expect(ground.attendance.on(ground.thread).map((attended) => attended.turn)).toEqual([...running, ...ended.slice(6)]);
  });
});

it("the results of one principal are kept, however many turns of another end", () => {
  const ground = new Ground();
  const [bobs, ...alices] = Array.from({ length: 70 }, (_, at) => ground.begin(WISH, (at === 0 ? "bob" : "alice") as Principal));
  for (const turn of [bobs, ...alices])
    if (turn) {
      ground.attendance.visit(turn).leave();
      turn.publish([DONE]);
    }
  expect(ground.attendance.on(ground.thread).map((attended) => attended.turn)).toEqual([bobs, ...alices.slice(6)]);
});

describe("a turn whose caller was lost", () => {
  it("is found until a caller has learned its thread", () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).lose();
    expect(ground.attendance.lost().map((attended) => attended.turn)).toEqual([turn]);
    const visit = ground.attendance.visit(turn);
    expect(ground.attendance.lost()).toHaveLength(1);
    visit.lose();
    expect(ground.attendance.lost()).toHaveLength(1);
    ground.attendance.visit(turn).leave();
    expect(ground.attendance.lost()).toEqual([]);
  });

  it("is not lost as long as another caller knows it", () => {
    const ground = new Ground();
    const turn = ground.begin();
    const other = ground.attendance.visit(turn);
    ground.attendance.visit(turn).lose();
    expect(ground.attendance.lost()).toEqual([]);
    other.leave();
    expect(ground.attendance.lost()).toEqual([]);
  });

  it("is found for 15 minutes after its end; later the same prompt starts a new turn", () => {
    const ground = new Ground();
    const turn = ground.begin();
    ground.attendance.visit(turn).lose();
    vi.advanceTimersByTime(10 * MINUTE);
    turn.publish([DONE]);
    vi.advanceTimersByTime(15 * MINUTE - 1);
    expect(ground.attendance.lost()).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(ground.attendance.lost()).toEqual([]);
    // Other clients that know the thread still get its answer.
    expect(ground.attendance.on(ground.thread)).toHaveLength(1);
  });

  it("is not found once it was interrupted", () => {
    const ground = new Ground();
    const [stopped, aborted] = [ground.begin(), ground.begin()];
    for (const turn of [stopped, aborted]) ground.attendance.visit(turn).lose();
    expect(ground.attendance.lost().map((attended) => attended.fulfils(WISH))).toEqual([true, true]);
    ground.attendance.visit(stopped).vanish();
    aborted.publish([{ type: "turnAborted", reason: "interrupted" }]);
    expect(ground.attendance.lost().map((attended) => attended.fulfils(WISH))).toEqual([false, false]);
  });

  it("lets a caller who finds it know that the turn began earlier", () => {
    const ground = new Ground();
    const turn = ground.begin();
    const first = ground.attendance.visit(turn);
    first.lose();
    const second = ground.attendance.visit(turn);
    second.leave();
    expect([first.findsLost, second.findsLost, ground.attendance.visit(turn).findsLost]).toEqual([false, true, false]);
  });

  it("is found only for the same prompt and settings", () => {
    const ground = new Ground();
    ground.begin();
    const [attended] = ground.attendance.on(ground.thread);
    const wishes = [
      { input: { text: "mend it" }, on: settingsIn("/repo") },
      { input: { text: "mend it!" }, on: settingsIn("/repo") },
      { input: { text: "mend it" }, on: settingsIn("/elsewhere") },
      { input: { text: "mend it" }, on: settingsIn("/repo", { sandboxPolicy: { type: "danger-full-access" } }) },
      { input: { text: "mend it" }, on: ground.thread },
    ];
    expect(wishes.map((wish) => attended?.fulfils(wish))).toEqual([true, false, false, false, false]);
  });
});

it("reports its activity, and what it waits for", () => {
  const ground = new Ground();
  const turn = ground.begin();
  const [attended] = ground.attendance.on(ground.thread);
  const started: ThreadEvent = { type: "planUpdated", explanation: null, plan: [] };
  turn.publish([started, { type: "messageDelta", itemId: "m", delta: "…" }, asked("q"), decided("q"), asked("r"), started]);
  expect([attended?.turn.step, attended?.questions.map(({ id }) => id)]).toEqual([started, ["r"]]);
});

it("questions are reported once", () => {
  const ground = new Ground();
  const turn = ground.begin();
  const ids = ["a", "b"] as ApprovalId[];
  const visit = ground.attendance.visit(turn);
  visit.reported(ids.slice(0, 1));
  visit.leave();
  expect(ground.attendance.visit(turn).unreported(ids)).toEqual(["b"]);
});
