import { expect, it } from "vitest";
import { spin } from "../../test/support/threads/slowItems.js";
import { inSlices } from "./slices.js";

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

it("others get their turn while a long list is worked on, and the order stays", async () => {
  const done: (number | "other")[] = [];
  setImmediate(() => done.push("other"));
  await inSlices(upTo(200), (entry) => {
    if (entry === 3) spin();
    done.push(entry);
  });
  expect(done.filter((entry) => entry !== "other")).toEqual(upTo(200));
  expect(done).toContain("other");
  expect(done.at(-1)).toBe(199);
});

it("what fails ends the work", async () => {
  const done: number[] = [];
  const failing = inSlices(upTo(5), (entry) => {
    if (entry === 2) throw new Error("no more");
    done.push(entry);
  });
  await expect(failing).rejects.toThrow("no more");
  expect(done).toEqual([0, 1]);
});
