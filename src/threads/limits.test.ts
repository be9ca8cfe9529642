import { describe, expect, it } from "vitest";
import { answer, beginning, MemoryStore, ObedientEngine } from "../../test/support/memory/memoryThreads.js";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import { MemoryApprovalDesk } from "../approvals/desk.js";
import { AppError } from "../lib/errors.js";
import { type ThreadId, turnIdOf } from "../lib/ids.js";
import type { EngineThread } from "./engine.js";
import type { TurnLimits } from "./limits.js";
import type { ThreadSettings } from "./settings.js";
import { ThreadRegistry } from "./threadRegistry.js";

class TooMuch extends AppError {
  readonly code = "too_much";
}

/** Limits that count the requests, and refuse from the given one on. */
class CountingLimits implements TurnLimits {
  readonly confinement = undefined;
  readonly reach = { folders: undefined };
  readonly checked: ThreadSettings[] = [];

  constructor(private readonly refusesFrom = Number.POSITIVE_INFINITY) {}

  check(settings: ThreadSettings): void {
    this.checked.push(settings);
    if (this.checked.length >= this.refusesFrom) throw new TooMuch("too much");
  }
}

const SETTINGS = settingsIn("/project");
const FAILED = { status: "failed", message: "too much" };

function threadsOn(engine: ObedientEngine, store = new MemoryStore()): ThreadRegistry & AsyncDisposable {
  const threads = new ThreadRegistry({ engine, store, desk: new MemoryApprovalDesk(), settingsOf: () => SETTINGS, idleMs: 60_000 });
  return Object.assign(threads, { [Symbol.asyncDispose]: () => threads.close() });
}

/** A thread of an earlier process. */
async function storedThread(): Promise<{ readonly threadId: ThreadId; readonly store: MemoryStore }> {
  const store = new MemoryStore();
  await using threads = threadsOn(new ObedientEngine(), store);
  const { threadId, outcome } = await threads.start(SETTINGS, { text: "one" }, turnIdOf("c"));
  await outcome;
  return { threadId, store };
}

/** An engine that runs a command in each turn. */
class CommandingEngine extends ObedientEngine {
  override async openThread(): Promise<EngineThread> {
    const { story } = this;
    return {
      opening: [],
      async *run({ text }) {
        yield beginning(text);
        yield [{ type: "commandStarted", callId: "c", command: ["ls"], cwd: "/project", parsed: [] }];
        story.push("the command runs");
        yield answer(text);
      },
    };
  }
}

describe("limits are checked against the settings with which a turn really runs", () => {
  it("before a new thread opens at all", async () => {
    const engine = new ObedientEngine();
    await using threads = threadsOn(engine);
    const limits = new CountingLimits(1);
    await expect(threads.start(SETTINGS, { text: "go", limits }, turnIdOf("c"))).rejects.toEqual(new TooMuch("too much"));
    expect([limits.checked, engine.opened, threads.loadedCount]).toEqual([[SETTINGS], [], 0]);
  });

  it("before a stored thread opens at all", async () => {
    const { threadId, store } = await storedThread();
    const engine = new ObedientEngine();
    await using threads = threadsOn(engine, store);
    await expect(threads.reply(threadId, { text: "two", limits: new CountingLimits(1) })).rejects.toEqual(new TooMuch("too much"));
    expect([engine.opened, threads.loadedCount]).toEqual([[], 0]);
  });

  it("are those of the caller, not of another who names the same thread at the same time", async () => {
    const { threadId, store } = await storedThread();
    await using threads = threadsOn(new ObedientEngine(), store);
    const [refused, allowed] = await Promise.allSettled([
      threads.reply(threadId, { text: "two", limits: new CountingLimits(1) }),
      threads.reply(threadId, { text: "three" }),
    ]);
    expect([refused, allowed.status]).toEqual([{ status: "rejected", reason: new TooMuch("too much") }, "fulfilled"]);
  });

  it("on each reply", async () => {
    await using threads = threadsOn(new ObedientEngine());
    const { threadId, outcome } = await threads.start(SETTINGS, { text: "one" }, turnIdOf("c"));
    await outcome;
    await expect(threads.reply(threadId, { text: "two", limits: new CountingLimits(1) })).rejects.toEqual(new TooMuch("too much"));
    expect(await (await threads.reply(threadId, { text: "three" })).outcome).toMatchObject({ status: "completed" });
  });

  it("when a turn that waited begins", async () => {
    const engine = new ObedientEngine();
    await using threads = threadsOn(engine);
    const first = await threads.start(SETTINGS, { text: "hold" }, turnIdOf("c"));
    const limits = new CountingLimits(2);
    const second = await threads.reply(first.threadId, { text: "two", limits });
    for await (const batch of first.log.read()) if (batch.some(({ value }) => value.type === "turnStarted")) break;
    engine.letGo();
    expect([await second.outcome, engine.story]).toEqual([FAILED, ["hold begins", "hold ends"]]);
  });

  it("before a command runs", async () => {
    const engine = new CommandingEngine();
    await using threads = threadsOn(engine);
    const limits = new CountingLimits(4);
    const turn = await threads.start(SETTINGS, { text: "go", limits }, turnIdOf("c"));
    expect([await turn.outcome, engine.story]).toEqual([FAILED, []]);
  });
});

describe("the caller who starts a thread", () => {
  it("gets its id before anything of it is visible", async () => {
    const store = new MemoryStore();
    await using threads = threadsOn(new ObedientEngine(), store);
    const seen: unknown[] = [];
    const opened = async (id: ThreadId) => {
      seen.push([id, store.records.get(id)?.events.length]);
    };
    const { threadId } = await threads.start(SETTINGS, { text: "go", opened }, turnIdOf("c"));
    expect(seen).toEqual([[threadId, 0]]);
  });

  it("can prevent it; then there is no thread", async () => {
    const engine = new ObedientEngine();
    await using threads = threadsOn(engine);
    const opened = () => Promise.reject(new TooMuch("no owner"));
    await expect(threads.start(SETTINGS, { text: "go", opened }, turnIdOf("c"))).rejects.toEqual(new TooMuch("no owner"));
    expect([threads.loadedCount, engine.story]).toEqual([0, []]);
  });
});
