import { expect, it } from "vitest";
import { deferred } from "./deferred.js";
import { Tasks } from "./tasks.js";

it("settles when all work is done, also work that was started meanwhile", async () => {
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

it("without work is settled at once", async () => {
  await new Tasks(() => {}).settle();
});
