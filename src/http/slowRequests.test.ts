import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SlowRequest, SlowRequests } from "./connections.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class Named extends SlowRequest {
  constructor(
    private readonly name: string,
    private readonly told: string[],
  ) {
    super();
  }

  waitedLong(): void {
    this.told.push(this.name);
  }
}

it("a waiting request is notified once, not before its time and soon after it", () => {
  const late = new SlowRequests(1_000);
  const told: string[] = [];
  late.begin(new Named("first", told));
  vi.advanceTimersByTime(500);
  late.begin(new Named("second", told));
  vi.advanceTimersByTime(499);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(201);
  expect(told).toEqual(["first"]);
  vi.advanceTimersByTime(5_000);
  expect(told).toEqual(["first", "second"]);
});

it("ended requests are never reported", () => {
  const late = new SlowRequests(1_000);
  const told: string[] = [];
  const answered = new Named("answered", told);
  late.begin(answered);
  late.end(answered);
  vi.advanceTimersByTime(5_000);
  expect(told).toEqual([]);
});

it("keeps no timer while nothing waits, and starts it again", () => {
  const late = new SlowRequests(1_000);
  const told: string[] = [];
  late.begin(new Named("first", told));
  vi.advanceTimersByTime(2_000);
  expect(vi.getTimerCount()).toBe(0);
  late.begin(new Named("second", told));
  vi.advanceTimersByTime(2_000);
  expect(told).toEqual(["first", "second"]);
});
