import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answer, beginning, MemoryStore, ObedientEngine } from "../../test/support/memory/memoryThreads.js";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import { historyOf } from "../../test/support/threads/turns.js";
import { MemoryApprovalDesk } from "../approvals/desk.js";
import { newThreadId, type ThreadId, turnIdOf } from "../lib/ids.js";
import { ThreadInUse, ThreadNotFound } from "./errors.js";
import type { ThreadSettings } from "./settings.js";
import type { StoredSettings } from "./store.js";
import { ThreadRegistry } from "./threadRegistry.js";
import type { Turn } from "./turn.js";

const IDLE_MS = 30 * 60_000;
const CALL = turnIdOf("call");
const INTERRUPTED = { status: "interrupted" };

beforeEach(() => {
  vi.useFakeTimers({ now: 0, toFake: ["Date", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The threads of a process. A second scene on the same store is the same machine after a restart. */
class Scene implements AsyncDisposable {
  readonly engine = new ObedientEngine();
  readonly threads: ThreadRegistry;

  constructor(
    readonly store = new MemoryStore(),
    options: { readonly idleMs?: number; readonly settingsOf?: (stored: StoredSettings) => ThreadSettings } = {},
  ) {
    const { idleMs = IDLE_MS, settingsOf = (stored: StoredSettings) => settingsIn(stored.cwd) } = options;
    this.threads = new ThreadRegistry({ engine: this.engine, store: this.store, desk: new MemoryApprovalDesk(), settingsOf, idleMs });
  }

  start(text: string): Promise<Turn> {
    return this.threads.start(settingsIn("/project"), { text }, CALL);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.threads.close();
  }
}

/** A store that lets a test act in the middle of archiving. */
class WatchedStore extends MemoryStore {
  whileArchiving = async (): Promise<void> => {};

  override async archive(id: ThreadId): Promise<void> {
    await this.whileArchiving();
    await super.archive(id);
  }
}

async function begun(turn: Turn): Promise<void> {
  for await (const _ of turn.log.read()) return;
}

function completed(text: string) {
  return { status: "completed", lastMessage: `re: ${text}` };
}

describe("a new thread", () => {
  it("has an id of its own and runs its first turn under the call's id", async () => {
    await using scene = new Scene();
    const [one, two] = [await scene.start("one"), await scene.start("two")];
    expect([one.id, two.id, one.threadId === two.threadId, await one.outcome, await two.outcome]).toEqual([
      CALL,
      CALL,
      false,
      completed("one"),
      completed("two"),
    ]);
    expect(scene.engine.opened).toEqual([one, two].map(({ threadId }) => ({ id: threadId, settings: settingsIn("/project") })));
    expect(scene.threads.loadedCount).toBe(2);
  });

  it("is found without a look into the store when it is named again", async () => {
    await using scene = new Scene();
    const { threadId, outcome } = await scene.start("one");
    await outcome;
    const reply = await scene.threads.reply(threadId, { text: "two" });
    expect([reply.threadId, await reply.outcome, scene.store.sought, scene.engine.opened.length]).toEqual([
      threadId,
      completed("two"),
      [],
      1,
    ]);
  });
});

describe("a thread of an earlier process", () => {
  it("continues with its history and its last settings", async () => {
    await using before = new Scene();
    const { threadId, outcome } = await before.start("one");
    await outcome;
    const kept = [...(before.store.records.get(threadId)?.events ?? [])];

    const asked: StoredSettings[] = [];
    const settings = settingsIn("/project", { model: "as it was left" });
    await using after = new Scene(before.store, {
      settingsOf: (stored) => {
        asked.push(stored);
        return settings;
      },
    });
    const reply = await after.threads.reply(threadId, { text: "two" });
    expect(await reply.outcome).toEqual(completed("two"));
    expect([asked, after.engine.opened]).toEqual([
      [{ cwd: "/project" }],
      [{ id: threadId, settings, history: historyOf(kept, "/project") }],
    ]);
    expect(before.store.records.get(threadId)?.events).toEqual([...kept, ...beginning("two"), ...answer("two")]);
  });

  it("is loaded once when two replies name it at the same time, and they run one after the other", async () => {
    await using before = new Scene();
    const { threadId, outcome } = await before.start("one");
    await outcome;

    await using after = new Scene(before.store);
    const replies = await Promise.all(["a", "b"].map((text) => after.threads.reply(threadId, { text })));
    await Promise.all(replies.map((reply) => reply.outcome));
    expect([replies.map(({ id }) => id), after.store.sought, after.engine.opened.length, after.engine.story]).toEqual([
      ["0", "1"],
      [threadId],
      1,
      ["a begins", "a ends", "b begins", "b ends"],
    ]);
  });

  it("that is unknown is not found, and is searched for again when it is named again", async () => {
    await using scene = new Scene();
    const id = newThreadId();
    await expect(scene.threads.reply(id, { text: "hello" })).rejects.toEqual(new ThreadNotFound(id));
    await expect(scene.threads.reply(id, { text: "hello" })).rejects.toEqual(new ThreadNotFound(id));
    expect([scene.store.sought, scene.threads.loadedCount]).toEqual([[id, id], 0]);
  });

  it("whose settings cannot be read is refused with the reason, and loaded when they can", async () => {
    await using before = new Scene();
    const { threadId, outcome } = await before.start("one");
    await outcome;
    let broken = true;
    await using after = new Scene(before.store, {
      settingsOf: (stored) => {
        if (broken) throw new Error("config.toml:1:1 is broken");
        return settingsIn(stored.cwd);
      },
    });
    await expect(after.threads.reply(threadId, { text: "two" })).rejects.toThrow("config.toml:1:1 is broken");
    broken = false;
    expect(await (await after.threads.reply(threadId, { text: "two" })).outcome).toEqual(completed("two"));
  });
});

describe("an idle thread", () => {
  it("is unloaded half an hour after its last turn and loaded from the store when it is named", async () => {
    await using scene = new Scene();
    const { threadId, outcome } = await scene.start("one");
    await outcome;
    await scene.threads.settle();
    vi.advanceTimersByTime(IDLE_MS - 60_000);
    expect(scene.threads.loadedCount).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(scene.threads.loadedCount).toBe(0);
    const reply = await scene.threads.reply(threadId, { text: "two" });
    expect([await reply.outcome, scene.store.sought, scene.threads.loadedCount]).toEqual([completed("two"), [threadId], 1]);
  });

  it("leaves memory when another thread is loaded beside 128, unless a turn or a command runs on it", async () => {
    await using scene = new Scene();
    const { threads, store } = scene;
    const ended = async (turn: Turn) => {
      await turn.outcome;
      await threads.settle();
      return turn.threadId;
    };
    const first = await ended(await scene.start("one"));
    const used = await ended(await scene.start("one that is used again"));
    const keeping = await ended(await scene.start("leaves a command running"));
    for (let n = 0; n < 125; n++) await ended(await scene.start(`thread ${n}`));
    await ended(await threads.reply(used, { text: "again" }));
    expect(threads.loadedCount).toBe(128);
    await ended(await scene.start("one more"));
    for (const id of [used, keeping, first]) await ended(await threads.reply(id, { text: "still there?" }));
    expect(store.sought).toEqual([first]);
  });

  it("stays in memory until its first turn, however many are opened at the same moment", async () => {
    await using scene = new Scene();
    const started = await Promise.allSettled(Array.from({ length: 300 }, (_, n) => scene.start(`thread ${n}`)));
    expect(started.filter(({ status }) => status === "rejected")).toEqual([]);
    const outcomes = await Promise.all(started.flatMap((start) => (start.status === "fulfilled" ? [start.value.outcome] : [])));
    expect(outcomes).toEqual(Array.from({ length: 300 }, (_, n) => completed(`thread ${n}`)));
  });

  it("can be archived once its turn has ended, and cannot be used meanwhile", async () => {
    const store = new WatchedStore();
    await using scene = new Scene(store);
    const { threads } = scene;
    const { threadId, outcome, log } = await scene.start("hold");
    for await (const _ of log.read()) break;
    await expect(threads.archive(threadId)).rejects.toThrow(ThreadInUse);
    scene.engine.letGo();
    await outcome;
    store.whileArchiving = async () => {
      expect(threads.loadedCount).toBe(0);
      await expect(threads.reply(threadId, { text: "meanwhile" })).rejects.toThrow(ThreadInUse);
      await expect(threads.archive(threadId)).rejects.toThrow(ThreadInUse);
    };
    await threads.archive(threadId);
    expect(store.records.get(threadId)?.archived).toBe(true);
    expect(await (await threads.reply(threadId, { text: "after" })).outcome).toEqual(completed("after"));
  });

  it("does not count as idle while a turn runs, however long", async () => {
    await using scene = new Scene();
    const turn = await scene.start("hold");
    await begun(turn);
    vi.advanceTimersByTime(10 * IDLE_MS);
    expect(scene.threads.loadedCount).toBe(1);
    scene.engine.letGo();
    expect(await turn.outcome).toEqual(completed("hold"));
  });

  it("may have an idle time of zero, without a check every millisecond", async () => {
    await using scene = new Scene(new MemoryStore(), { idleMs: 0 });
    await (await scene.start("one")).outcome;
    await scene.threads.settle();
    vi.advanceTimersToNextTimer();
    expect([scene.threads.loadedCount, Date.now()]).toEqual([0, 1_000]);
  });

  it("is not searched for once the registry is closed", async () => {
    await new Scene()[Symbol.asyncDispose]();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the events of a turn", () => {
  it("are found by thread and key during and after it, for a reader that resumes", async () => {
    await using scene = new Scene();
    const turn = await scene.start("hold");
    await begun(turn);
    const address = { threadId: turn.threadId, turn: turn.key };
    const rest = async (after: number) => {
      const seen: string[] = [];
      for await (const batch of (await scene.threads.events(address))?.read({ after }) ?? [])
        seen.push(...batch.map(({ seq, value }) => `${seq} ${value.type}`));
      return seen;
    };
    const reading = rest(3);
    scene.engine.letGo();
    await turn.outcome;
    const told = ["4 rawItem", "5 rawItem", "6 turnCompleted"];
    expect([await reading, await rest(3), await rest(6)]).toEqual([told, told, []]);
    expect(await scene.threads.events({ ...address, threadId: newThreadId() })).toBeUndefined();
  });
});

describe("the stored threads", () => {
  it("are the store's: listed, forked, archived and back", async () => {
    await using scene = new Scene();
    const { threads } = scene;
    const said = await threads.start(settingsIn("/project"), { text: "one" }, CALL);
    await said.outcome;
    await threads.settle();
    const record = scene.store.records.get(said.threadId);
    record?.events.push({ type: "itemCompleted", item: { kind: "userMessage", id: "1", text: "one" } });
    const idsOf = async (archived = false) => (await threads.list({ limit: 10, archived })).threads.map(({ id }) => id);
    const fork = await threads.fork(said.threadId);
    expect(await idsOf()).toEqual([fork, said.threadId]);
    await threads.archive(said.threadId);
    expect([await idsOf(), await idsOf(true), threads.find(said.threadId)]).toEqual([[fork], [said.threadId], undefined]);
    await threads.unarchive(said.threadId);
    expect(await idsOf()).toEqual([fork, said.threadId]);
  });

  it("are the engine's when it keeps them itself", async () => {
    const keeping = Object.assign(new ObedientEngine(), { catalog: async () => new MemoryStore(kept.records) });
    const kept = new MemoryStore();
    const id = newThreadId();
    kept.create({ id, settings: settingsIn("/kept"), engine: "codex" }).events.push({
      type: "itemCompleted",
      item: { kind: "userMessage", id: "1", text: "of the engine" },
    });
    const options = { store: new MemoryStore(), desk: new MemoryApprovalDesk(), settingsOf: () => settingsIn("/kept"), idleMs: IDLE_MS };
    const threads = new ThreadRegistry({ engine: keeping, ...options });
    expect((await threads.list({ limit: 10 })).threads).toEqual([expect.objectContaining({ id, preview: "of the engine" })]);
    await threads.archive(id);
    expect(kept.records.get(id)?.archived).toBe(true);
    await threads.close();
  });

  it("are not archived while a turn runs, nor forked beyond the caller's limits", async () => {
    await using scene = new Scene();
    const turn = await scene.start("hold");
    await begun(turn);
    await expect(scene.threads.archive(turn.threadId)).rejects.toThrow(ThreadInUse);
    const refuse = () => {
      throw new Error("above the ceiling");
    };
    const limits = { check: refuse, confinement: undefined, reach: { folders: undefined } };
    await expect(scene.threads.fork(turn.threadId, limits)).rejects.toThrow("above the ceiling");
    scene.engine.letGo();
    await turn.outcome;
  });
});

describe("shutting down", () => {
  it("interrupts every turn, running or waiting, and settles when all have ended", async () => {
    await using scene = new Scene();
    const one = await scene.start("hang");
    const two = await scene.start("hang");
    const waiting = await scene.threads.reply(one.threadId, { text: "never begun" });
    await Promise.all([one, two].map(begun));
    scene.threads.interruptAll();
    await scene.threads.settle();
    expect(await Promise.all([one, two, waiting].map(({ outcome }) => outcome))).toEqual([INTERRUPTED, INTERRUPTED, INTERRUPTED]);
    expect(scene.engine.story).toEqual(["hang begins", "hang begins", "hang ends", "hang ends"]);
  });

  it("is at once when nothing runs", async () => {
    await using scene = new Scene();
    await expect(scene.threads.settle()).resolves.toBeUndefined();
  });
});
