import { expect, it } from "vitest";
import { newTaskId, timeOfTaskId } from "./taskStore.js";

it("an id reveals when it was made, and nothing else", () => {
  const now = Date.UTC(2026, 10, 15);
  const ids = Array.from({ length: 100 }, () => newTaskId(now));
  expect(new Set(ids).size).toBe(100);
  expect(new Set(ids.map(timeOfTaskId))).toEqual(new Set([now]));
});

it("ids sort by age", () => {
  expect(newTaskId(Date.UTC(2026, 0)) < newTaskId(Date.UTC(2058, 0))).toBe(true);
});

it.each(["", "x", "../../../etc/passwd", `${"1".repeat(8)}-${"a".repeat(31)}`, `12345678-${"a".repeat(32)}\n`])("%j is none", (id) => {
  expect(timeOfTaskId(id)).toBeUndefined();
});
