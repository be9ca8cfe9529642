import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadline, orAborted, withinLimit } from "./deadline.js";
import { McpTimedOut } from "./failures.js";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => vi.useRealTimers());

const NEVER = new AbortController().signal;

describe("a deadline", () => {
  it("passes once, when its time is over", () => {
    using limit = new Deadline(100);
    vi.advanceTimersByTime(99);
    expect(limit.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(limit.signal.aborted).toBe(true);
  });

  it("does not pass while it stands still, and goes on with what was left", () => {
    using limit = new Deadline(100);
    vi.advanceTimersByTime(60);
    limit.pause();
    limit.pause();
    vi.advanceTimersByTime(1000);
    limit.resume();
    limit.resume();
    vi.advanceTimersByTime(39);
    expect(limit.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(limit.signal.aborted).toBe(true);
  });

  it("never passes once it was disposed of, and leaves no timer", () => {
    const limit = new Deadline(100);
    limit[Symbol.dispose]();
    vi.advanceTimersByTime(1000);
    expect([limit.signal.aborted, vi.getTimerCount()]).toEqual([false, 0]);
  });
});

describe("work within a limit", () => {
  const untilAborted = (ends: AbortSignal) =>
    new Promise((_, reject) => ends.addEventListener("abort", () => reject(new Error("stopped")), { once: true }));

  it("gives its value", async () => {
    using limit = new Deadline(100);
    expect(await withinLimit(limit, { signal: NEVER, late: "too late" }, async () => 5)).toBe(5);
  });

  it("is stopped when the time is over", async () => {
    using limit = new Deadline(100);
    const outcome = expect(withinLimit(limit, { signal: NEVER, late: "too late" }, untilAborted)).rejects.toEqual(
      new McpTimedOut("too late"),
    );
    vi.advanceTimersByTime(100);
    await outcome;
  });

  it("is stopped by the signal, for the signal's reason", async () => {
    using limit = new Deadline(100);
    const turn = new AbortController();
    const reason = new Error("interrupted");
    const outcome = expect(withinLimit(limit, { signal: turn.signal, late: "too late" }, untilAborted)).rejects.toBe(reason);
    turn.abort(reason);
    await outcome;
  });

  it("fails for its own reason before that", async () => {
    using limit = new Deadline(100);
    const broken = new Error("broken");
    await expect(withinLimit(limit, { signal: NEVER, late: "too late" }, () => Promise.reject(broken))).rejects.toBe(broken);
  });
});

describe("waiting or leaving", () => {
  it("gives what the promise gives", async () => {
    expect(await orAborted(Promise.resolve(5), NEVER)).toBe(5);
    await expect(orAborted(Promise.reject(new Error("broken")), NEVER)).rejects.toThrow("broken");
  });

  it("ends with the signal's reason, also when that came before", async () => {
    const turn = new AbortController();
    const waiting = orAborted(new Promise(() => {}), turn.signal);
    turn.abort(new Error("interrupted"));
    await expect(waiting).rejects.toThrow("interrupted");
    await expect(orAborted(Promise.resolve(5), turn.signal)).rejects.toThrow("interrupted");
  });
});
