import { afterEach, describe, expect, it, vi } from "vitest";
import { answer, beginning, MemoryRecord, ObedientEngine } from "../../test/support/memory/memoryThreads.js";
import { message, settingsIn } from "../../test/support/threads/rollouts.js";
import { historyOf } from "../../test/support/threads/turns.js";
import { MemoryApprovalDesk } from "../approvals/desk.js";
import type { ApprovalSubject } from "../approvals/model.js";
import { newThreadId, turnIdOf } from "../lib/ids.js";
import type { EngineThread } from "./engine.js";
import { StorageFailed, ThreadBusyElsewhere, TooManyQueuedTurns } from "./errors.js";
import type { ThreadEvent } from "./events.js";
import { Thread } from "./thread.js";
import type { Turn } from "./turn.js";

const CWD = "/project";
const ABORTED: ThreadEvent = { type: "turnAborted", reason: "interrupted" };
const INTERRUPTED = { status: "interrupted" };

afterEach(() => vi.useRealTimers());

const SURROUNDINGS = { desk: new MemoryApprovalDesk(), retire: () => {} };

/** A thread with an engine and a record in memory. */
async function openThread() {
  const id = newThreadId();
  const settings = settingsIn(CWD);
  const engine = new ObedientEngine();
  const record = new MemoryRecord(id, CWD);
  const engineThread = await engine.openThread({ id, settings });
  const reload = () => engine.openThread({ id, settings, history: historyOf(record.events, CWD) });
  const thread = new Thread({ id, settings, record, engineThread, ...SURROUNDINGS, reload });
  const opening: ThreadEvent[] = [
    { type: "threadConfigured", threadId: id, settings, recordPath: record.path },
    { type: "contextItem", item: message("developer", "context") },
  ];
  return { id, thread, engine, record, opening };
}

async function eventsOf(turn: Turn): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const batch of turn.log.read()) events.push(...batch.map(({ value }) => value));
  return events;
}

function completed(text: string) {
  return { status: "completed", lastMessage: `re: ${text}` };
}

/** Resolves when the engine has started the turn. */
async function begun(turn: Turn): Promise<void> {
  for await (const _ of turn.log.read()) return;
}

describe("turns", () => {
  it("the first shows the opening of the thread, then itself; all is recorded before any reader sees it", async () => {
    const { thread, record, opening } = await openThread();
    const turn = thread.begin({ text: "hello" }, turnIdOf("call-1"));
    const shown = await eventsOf(turn);
    expect([turn.id, shown, await turn.outcome]).toEqual([
      "call-1",
      [...opening, ...beginning("hello"), ...answer("hello")],
      completed("hello"),
    ]);
    expect([record.events, record.openLeases]).toEqual([shown, 0]);
  });

  it("later ones are numbered from 0 and show only their own events", async () => {
    const { thread } = await openThread();
    await thread.begin({ text: "hello" }, turnIdOf("call-1")).outcome;
    const turns = [thread.reply({ text: "and" }), thread.reply({ text: "then" })];
    expect([turns.map(({ id }) => id), await Promise.all(turns.map(eventsOf))]).toEqual([
      ["0", "1"],
      [
        [...beginning("and"), ...answer("and")],
        [...beginning("then"), ...answer("then")],
      ],
    ]);
  });

  it("run one at a time, in the order they came", async () => {
    const { thread, engine } = await openThread();
    const first = thread.begin({ text: "hold" }, turnIdOf("1"));
    const later = [thread.reply({ text: "a" }), thread.reply({ text: "b" })];
    await begun(first);
    expect(engine.story).toEqual(["hold begins"]);
    engine.letGo();
    await Promise.all(later.map(({ outcome }) => outcome));
    await thread.settle();
    expect(engine.story).toEqual(["hold begins", "hold ends", "a begins", "a ends", "b begins", "b ends"]);
  });

  it("are refused beyond 32 that wait, without affecting the others", async () => {
    const { id, thread, engine } = await openThread();
    const first = thread.begin({ text: "hold" }, turnIdOf("1"));
    const waiting = Array.from({ length: 32 }, (_, number) => thread.reply({ text: String(number) }));
    expect(() => thread.reply({ text: "surplus" })).toThrow(new TooManyQueuedTurns(id, 32));
    await begun(first);
    engine.letGo();
    expect(await Promise.all(waiting.map(({ outcome }) => outcome))).toEqual(waiting.map((_, number) => completed(String(number))));
    expect(await thread.reply({ text: "again" }).outcome).toEqual(completed("again"));
  });
});

describe("an interrupted thread", () => {
  it("ends the running and the waiting turns, and can be continued at once", async () => {
    const { thread, engine } = await openThread();
    const running = thread.begin({ text: "hang" }, turnIdOf("1"));
    const waiting = thread.reply({ text: "never begun" });
    await begun(running);
    thread.interrupt();
    const next = thread.reply({ text: "go on" });
    expect(await Promise.all([running, waiting, next].map(({ outcome }) => outcome))).toEqual([
      INTERRUPTED,
      INTERRUPTED,
      completed("go on"),
    ]);
    expect([await eventsOf(waiting), engine.story, engine.opened.length]).toEqual([
      [ABORTED],
      ["hang begins", "hang ends", "go on begins", "go on ends"],
      1,
    ]);
  });

  it("ends a waiting turn although the running one continues", async () => {
    const { thread, engine } = await openThread();
    const running = thread.begin({ text: "hold" }, turnIdOf("1"));
    const [unwanted, wanted] = [thread.reply({ text: "unwanted" }), thread.reply({ text: "wanted" })];
    await begun(running);
    unwanted.interrupt();
    expect([await unwanted.outcome, running.ended]).toEqual([INTERRUPTED, false]);
    engine.letGo();
    expect([await running.outcome, await wanted.outcome]).toEqual([completed("hold"), completed("wanted")]);
  });

  it("continues from its record if the engine did not stop in time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { id, thread, engine, record, opening } = await openThread();
    const stuck = thread.begin({ text: "ignore" }, turnIdOf("1"));
    const next = thread.reply({ text: "go on" });
    await begun(stuck);
    stuck.interrupt();
    await vi.advanceTimersByTimeAsync(2_000);
    expect([await stuck.outcome, await next.outcome, record.openLeases]).toEqual([INTERRUPTED, completed("go on"), 0]);
    expect(engine.opened.slice(1)).toEqual([
      { id, settings: thread.settings, history: historyOf([...opening, ...beginning("ignore")], CWD) },
    ]);
  });

  it("shows its opening with the next turn if the first one never began", async () => {
    const { thread, opening, record } = await openThread();
    const first = thread.begin({ text: "never begun" }, turnIdOf("1"));
    first.interrupt();
    const next = thread.reply({ text: "hello" });
    expect([await eventsOf(first), await eventsOf(next)]).toEqual([[ABORTED], [...opening, ...beginning("hello"), ...answer("hello")]]);
    expect(record.events).toEqual([...opening, ...beginning("hello"), ...answer("hello")]);
  });
});

describe("an engine that", () => {
  it.for([
    ["throw", "the engine broke"],
    ["vanish", "the engine stopped without saying how the turn ended"],
  ] as const)("does %s fails its turn, and the next continues from the record", async ([text, why]) => {
    const { id, thread, engine, opening } = await openThread();
    const broken = thread.begin({ text }, turnIdOf("1"));
    const next = thread.reply({ text: "go on" });
    expect([await eventsOf(broken), await broken.outcome, await next.outcome]).toEqual([
      [...opening, ...beginning(text), { type: "turnFailed", message: why, info: "internal_server_error" }],
      { status: "failed", message: why },
      completed("go on"),
    ]);
    expect(engine.opened.slice(1)).toEqual([{ id, settings: thread.settings, history: historyOf([...opening, ...beginning(text)], CWD) }]);
  });
});

describe("a record that", () => {
  it("cannot be leased fails the turn before the engine runs; later turns work, and report how the thread opened", async () => {
    const { id, thread, engine, record, opening } = await openThread();
    record.leaseFailure = new ThreadBusyElsewhere(id, "process 42");
    const refused = thread.begin({ text: "hello" }, turnIdOf("1"));
    const why = `Thread ${id} is in use by another process (process 42). Wait until its turn has ended, then call again.`;
    expect([await eventsOf(refused), await refused.outcome, engine.story]).toEqual([
      [{ type: "turnFailed", message: why, info: "other" }],
      { status: "failed", message: why },
      [],
    ]);
    record.leaseFailure = undefined;
    expect(await eventsOf(thread.reply({ text: "again" }))).toEqual([...opening, ...beginning("again"), ...answer("again")]);
    expect(engine.opened).toHaveLength(1);
  });

  it("becomes full during a turn fails the turn and stops the engine; the next turn continues from the stored part", async () => {
    const { id, thread, engine, record, opening } = await openThread();
    record.room = 2;
    const broken = thread.begin({ text: "too much" }, turnIdOf("1"));
    expect([await eventsOf(broken), engine.story, record.openLeases]).toEqual([
      [...opening, ...beginning("too much"), { type: "turnFailed", message: "no space left on device", info: "other" }],
      ["too much begins", "too much ends"],
      0,
    ]);
    record.room = Number.POSITIVE_INFINITY;
    expect(await thread.reply({ text: "go on" }).outcome).toEqual(completed("go on"));
    expect(engine.opened.slice(1)).toEqual([
      { id, settings: thread.settings, history: historyOf([...opening, ...beginning("too much")], CWD) },
    ]);
  });

  it("was full from the start fails the turn, and the thread begins properly once there is room", async () => {
    const { thread, engine, record, opening } = await openThread();
    record.room = 0;
    const refused = thread.begin({ text: "hello" }, turnIdOf("1"));
    expect([await refused.outcome, engine.story]).toEqual([{ status: "failed", message: "no space left on device" }, []]);
    record.room = Number.POSITIVE_INFINITY;
    await thread.reply({ text: "again" }).outcome;
    expect(record.events).toEqual([...opening, ...beginning("again"), ...answer("again")]);
    expect(engine.opened).toHaveLength(1);
  });

  it("another process has written is read again before the engine runs", async () => {
    const { id, thread, engine, record } = await openThread();
    await thread.begin({ text: "hello" }, turnIdOf("1")).outcome;
    record.events.push(...beginning("from elsewhere"), ...answer("from elsewhere"));
    record.changedElsewhere = true;
    const history = historyOf(record.events, CWD);
    expect(await thread.reply({ text: "here again" }).outcome).toEqual(completed("here again"));
    expect(engine.opened.slice(1)).toEqual([{ id, settings: thread.settings, history }]);
    await thread.reply({ text: "and again" }).outcome;
    expect(engine.opened).toHaveLength(2);
  });

  it("cannot be read again fails the turn, and the next tries again", async () => {
    const { thread: whole, engine, record } = await openThread();
    let readable = false;
    const thread = new Thread({
      id: whole.id,
      settings: whole.settings,
      record,
      engineThread: await engine.openThread({ id: whole.id, settings: whole.settings }),
      ...SURROUNDINGS,
      reload: async () => {
        if (!readable) throw new StorageFailed("the file is unreadable");
        return engine.openThread({ id: whole.id, settings: whole.settings });
      },
    });
    record.changedElsewhere = true;
    expect(await thread.reply({ text: "hello" }).outcome).toEqual({ status: "failed", message: "the file is unreadable" });
    readable = true;
    expect(await thread.reply({ text: "hello" }).outcome).toEqual(completed("hello"));
  });

  it("fails to close does not stop the next turns", async () => {
    const { thread, record } = await openThread();
    record.releaseFailure = new Error("close EIO");
    const turns = [thread.begin({ text: "a" }, turnIdOf("1")), thread.reply({ text: "b" })];
    expect(await Promise.all(turns.map(({ outcome }) => outcome))).toEqual([completed("a"), completed("b")]);
    await thread.settle();
  });
});

describe("idleness", () => {
  it("starts at the last turn's end, and does not exist while a turn runs or waits", async () => {
    vi.useFakeTimers({ now: 1_000, toFake: ["Date"] });
    const { thread, engine } = await openThread();
    expect(thread.idleSince).toBe(1_000);
    vi.setSystemTime(2_000);
    const turn = thread.begin({ text: "hold" }, turnIdOf("1"));
    expect(thread.idleSince).toBeUndefined();
    await begun(turn);
    vi.setSystemTime(3_000);
    engine.letGo();
    await turn.outcome;
    await thread.settle();
    expect(thread.idleSince).toBe(3_000);
  });

  it("is awaited by `settle`, even through later turns", async () => {
    const { thread, engine } = await openThread();
    const first = thread.begin({ text: "hold" }, turnIdOf("1"));
    await begun(first);
    const settled = thread.settle().then(() => engine.story.push("settled"));
    const second = thread.reply({ text: "meanwhile" });
    engine.letGo();
    await Promise.all([settled, second.outcome]);
    expect(engine.story).toEqual(["hold begins", "hold ends", "meanwhile begins", "meanwhile ends", "settled"]);
  });
});

describe("a question of the engine", () => {
  const SUBJECT: ApprovalSubject = { kind: "patch", callId: "c", changes: {}, staysInSandbox: true, needsPerson: false };

  /** A thread whose turn asks once and ends with the decision. */
  async function asking(withdrawn?: AbortSignal) {
    const { id, record } = await openThread();
    const desk = new MemoryApprovalDesk();
    const engineThread: EngineThread = {
      opening: [],
      async *run(_input, { ask }) {
        const lastMessage = await ask(SUBJECT, withdrawn).then(
          ({ kind }) => kind,
          (error: Error) => error.message,
        );
        yield [{ type: "turnCompleted", lastMessage }];
      },
    };
    const parts = { id, settings: settingsIn(CWD), record, engineThread, desk, retire: () => {}, reload: async () => engineThread };
    return { turn: new Thread(parts).reply({ text: "go" }), desk };
  }

  it("waits on the desk, and readers see it and its decision", async () => {
    const { turn, desk } = await asking();
    const reading = eventsOf(turn);
    await expect.poll(() => desk.pending()).toHaveLength(1);
    const [request] = await desk.pending();
    if (request) await desk.answer(request.id, { kind: "approved" });
    expect(await reading).toEqual([
      { type: "approvalRequested", request },
      { type: "approvalDecided", id: request?.id, decision: { kind: "approved" } },
      { type: "turnCompleted", lastMessage: "approved" },
    ]);
  });

  it("that is withdrawn is gone from the desk, and readers learn it", async () => {
    const withdrawal = new AbortController();
    const { turn, desk } = await asking(withdrawal.signal);
    const reading = eventsOf(turn);
    await expect.poll(() => desk.pending()).toHaveLength(1);
    withdrawal.abort(new Error("never mind"));
    expect((await reading).slice(1)).toEqual([
      {
        type: "approvalDecided",
        id: expect.any(String),
        decision: { kind: "denied", reason: "the question was withdrawn", by: "withdrawal" },
      },
      { type: "turnCompleted", lastMessage: "never mind" },
    ]);
    expect(await desk.pending()).toEqual([]);
  });
});
