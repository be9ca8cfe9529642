import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { timeOfUuid } from "./ids.js";

/** From a fresh module, which no other test file gets: ids never go back in time, and test files share modules. */
let newThreadId: () => string;
beforeEach(async () => {
  vi.resetModules();
  ({ newThreadId } = await import("./ids.js"));
});
afterEach(() => {
  vi.useRealTimers();
  vi.resetModules();
});

it("a thread's id is a version 7 UUID that contains its time", () => {
  vi.useFakeTimers({ now: Date.UTC(2099, 0, 1), toFake: ["Date"] });
  const id = newThreadId();
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(timeOfUuid(id)).toBe(Date.UTC(2099, 0, 1));
});

it("ids sort in the order they were made, even many within one millisecond and when the clock goes back", () => {
  vi.useFakeTimers({ now: Date.UTC(2100, 0, 1), toFake: ["Date"] });
  const ids = Array.from({ length: 10_000 }, newThreadId);
  vi.setSystemTime(Date.UTC(2100, 0, 1) - 60_000);
  ids.push(newThreadId());
  vi.setSystemTime(Date.UTC(2100, 0, 2));
  ids.push(newThreadId());
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

it("other versions of UUIDs have no time", () => {
  expect(timeOfUuid("a2f1c3d4-5b6a-4c7d-8e9f-0a1b2c3d4e5f")).toBeUndefined();
});
