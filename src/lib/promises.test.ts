import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { deferred, Mailbox, Tasks, timeoutSignal } from "./promises.js";

it("settles once, with the first result", async () => {
  const kept = deferred<string>();
  kept.resolve("first");
  kept.resolve("second");
  kept.reject(new Error("too late"));
  expect(await kept.promise).toBe("first");

  const broken = deferred<string>();
  broken.reject(new Error("first"));
  broken.resolve("too late");
  await expect(broken.promise).rejects.toThrow("first");
});

it("settles when all work is done, including work that was started meanwhile", async () => {
  const tasks = new Tasks(() => {});
  const done: string[] = [];
  const first = deferred<void>();
  tasks.start("first", async () => {
    await first.promise;
    tasks.start("second", async () => {
      await Promise.resolve();
      done.push("second");
    });
    done.push("first");
  });
  const settled = tasks.settle().then(() => done.push("settled"));
  first.resolve();
  await settled;
  expect(done).toEqual(["first", "second", "settled"]);
});

it("a failure reaches its owner with the task's name, and others go on", async () => {
  const failures: unknown[] = [];
  const tasks = new Tasks((name, error) => failures.push([name, error]));
  const done: string[] = [];
  tasks.start("bad", async () => {
    throw new Error("broken");
  });
  tasks.start("good", async () => {
    done.push("good");
  });
  await tasks.settle();
  expect({ failures, done }).toEqual({ failures: [["bad", new Error("broken")]], done: ["good"] });
});

it("settles at once without work", async () => {
  await expect(new Tasks(() => {}).settle()).resolves.toBeUndefined();
});

async function everything<T>(box: Mailbox<T>): Promise<(readonly T[])[]> {
  const batches: (readonly T[])[] = [];
  for await (const batch of box.batches()) batches.push(batch);
  return batches;
}

describe("a mailbox", () => {
  it("delivers waiting entries together and in order, and ends when it is closed and empty", async () => {
    const box = new Mailbox<number>();
    box.put(1);
    box.put(2);
    box.close();
    expect(await everything(box)).toEqual([[1, 2]]);
  });

  it("wakes a waiting reader for a new entry", async () => {
    const box = new Mailbox<string>();
    const reader = box.batches();
    const first = reader.next();
    box.put("a");
    expect(await first).toEqual({ done: false, value: ["a"] });
    const second = reader.next();
    box.put("b");
    box.put("c");
    expect(await second).toEqual({ done: false, value: ["b", "c"] });
    const end = reader.next();
    box.close();
    expect(await end).toEqual({ done: true, value: undefined });
  });

  it("accepts nothing once it is closed", async () => {
    const box = new Mailbox<number>();
    box.close();
    box.put(1);
    expect(await everything(box)).toEqual([]);
  });
});

it("a time limit that only a combined signal refers to is not collected before it has passed", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const joined = (() => AbortSignal.any([new AbortController().signal, timeoutSignal(100)]))();
  const aborted = once(joined, "abort");
  // The joined signal refers to it weakly, so the next collection frees it.
  setImmediate(collect);
  await aborted;
  expect(joined.reason).toMatchObject({ name: "TimeoutError" });
});
