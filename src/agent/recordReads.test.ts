import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { MemoryStore } from "../../test/support/memory/memoryThreads.js";
import { callerNamed, OwnToolsStage } from "../../test/support/memory/ownToolsStage.js";
import { newThreadId, type ThreadId, turnIdOf } from "../lib/ids.js";
import { deferred } from "../lib/promises.js";
import { NothingToSteer, ThreadNotFound } from "../threads/errors.js";
import type { StoredThread } from "../threads/store.js";

const { signal } = new AbortController();
const ALICE = { caller: callerNamed("alice"), signal };
const BOB = { caller: callerNamed("bob"), signal };

/** Every reading of a record waits for permission. */
class SlowStore extends MemoryStore {
  readonly permission = deferred<void>();

  override async find(id: ThreadId): Promise<StoredThread | undefined> {
    const found = super.find(id);
    await this.permission.promise;
    return found;
  }
}

/** An agent with an ended thread of each of these callers, none of them in memory. */
async function afterRestart(...callers: readonly (typeof ALICE)[]) {
  const store = new MemoryStore();
  await using before = new OwnToolsStage({ store });
  const ids = [];
  for (const ask of callers) {
    const { threadId, outcome } = await before.agent.begin(ask, { text: "one" }, { turnId: turnIdOf("1") });
    await outcome;
    ids.push(threadId);
  }
  await before.threads.settle();
  const slow = new SlowStore(store.records);
  const stage = new OwnToolsStage({ store: slow });
  for (const [at, id] of ids.entries()) stage.owners.kept.set(id, callers[at]?.caller.principal ?? "");
  return { stage, store: slow, ids };
}

it("at most four looks at settings of one principal read a record at the same time", async () => {
  const { stage, store, ids } = await afterRestart(ALICE, ALICE, ALICE, ALICE, ALICE, ALICE, BOB);
  await using _ = stage;
  const [bobs, ...others] = [...ids].reverse();
  const looks = others.map((id) => stage.agent.settingsOf(ALICE, id));
  looks.push(stage.agent.settingsOf(BOB, bobs ?? newThreadId()));
  await nextTurn();
  expect(store.sought).toHaveLength(5);
  expect(store.sought).toContain(bobs);
  store.permission.resolve();
  expect(await Promise.all(looks)).toHaveLength(7);
  expect(new Set(store.sought)).toEqual(new Set(ids));
});

it("to find out whether a thread exists, its record is not read", async () => {
  const { stage, store, ids } = await afterRestart(ALICE);
  await using _ = stage;
  const [id = newThreadId()] = ids;
  await expect(stage.agent.steer(ALICE, id, "more")).rejects.toThrow(NothingToSteer);
  await (await stage.agent.follow(ALICE, id)).return(undefined);
  expect(await stage.agent.resume(ALICE, id)).toBeUndefined();
  const missing = newThreadId();
  stage.owners.kept.set(missing, "alice");
  await expect(stage.agent.steer(ALICE, missing, "more")).rejects.toThrow(ThreadNotFound);
  await expect(stage.agent.follow(ALICE, missing)).rejects.toThrow(ThreadNotFound);
  await expect(stage.agent.resume(ALICE, missing)).rejects.toThrow(ThreadNotFound);
  expect(store.sought).toEqual([]);
});
