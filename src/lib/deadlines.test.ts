import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadline, endsWithin, IdleDeadline, orAborted, valueWithin, waitFor, withDeadline } from "./promises.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const NEVER = new AbortController().signal;
const never = () => new Promise<never>(() => {});
const late = () => new Error("too late");

describe("waiting", () => {
  it("ends with the promise, or with its error", async () => {
    expect(await waitFor(Promise.resolve(5), { ms: 100, signal: NEVER })).toEqual({ at: "ended", value: 5 });
    await expect(waitFor(Promise.reject(new Error("broken")), { ms: 100 })).rejects.toThrow("broken");
  });

  it("ends when the time is over", async () => {
    const waiting = waitFor(never(), { ms: 100, signal: NEVER });
    vi.advanceTimersByTime(100);
    expect(await waiting).toEqual({ at: "late" });
  });

  it("ends with the signal, even if that was aborted before", async () => {
    const turn = new AbortController();
    const waiting = waitFor(never(), { ms: 100, signal: turn.signal });
    turn.abort();
    expect(await waiting).toEqual({ at: "aborted" });
    expect(await waitFor(Promise.resolve(5), { signal: turn.signal })).toEqual({ at: "aborted" });
  });

  it("does not end at once if the limit is longer than the longest timer", async () => {
    const work = new AbortController();
    const waiting = waitFor(never(), { ms: 2 ** 40, signal: work.signal });
    await vi.advanceTimersByTimeAsync(1_000);
    work.abort();
    expect(await waiting).toEqual({ at: "aborted" });
  });

  it("ignores a promise that fails afterwards", async () => {
    const failing = new Promise((_, reject) => setTimeout(() => reject(new Error("nobody waits any more")), 200));
    const waiting = waitFor(failing, { ms: 100 });
    await vi.advanceTimersByTimeAsync(200);
    expect(await waiting).toEqual({ at: "late" });
  });
});

describe("the result of a wait", () => {
  it("is the promise's value, or the default if it takes too long", async () => {
    expect(await valueWithin(100, Promise.resolve(5), "none")).toBe(5);
    const waiting = valueWithin(100, never(), "none");
    vi.advanceTimersByTime(100);
    expect(await waiting).toBe("none");
  });

  it("is whether the work ended in time", async () => {
    const waiting = Promise.all([endsWithin(100, Promise.resolve()), endsWithin(100, never())]);
    await vi.advanceTimersByTimeAsync(100);
    expect(await waiting).toEqual([true, false]);
  });

  it("is the promise's value, or the signal's reason", async () => {
    const turn = new AbortController();
    expect(await orAborted(Promise.resolve(5), turn.signal)).toBe(5);
    await expect(orAborted(Promise.reject(new Error("broken")), turn.signal)).rejects.toThrow("broken");
    const waiting = orAborted(never(), turn.signal);
    turn.abort(new Error("interrupted"));
    await expect(waiting).rejects.toThrow("interrupted");
    await expect(orAborted(Promise.resolve(5), turn.signal)).rejects.toThrow("interrupted");
  });
});

describe("a deadline", () => {
  it("passes after its time, with its reason", () => {
    using limit = new Deadline(100, late);
    vi.advanceTimersByTime(99);
    expect(limit.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(limit.signal.reason).toEqual(late());
  });

  it("stops while it is paused, and then continues with the rest", () => {
    using limit = new Deadline(100, late);
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

  it("never passes once it was disposed of", () => {
    const limit = new Deadline(100, late);
    limit[Symbol.dispose]();
    vi.advanceTimersByTime(1000);
    expect(limit.signal.aborted).toBe(false);
  });
});

describe("work with a deadline", () => {
  const untilTold = (ends: AbortSignal) =>
    new Promise<never>((_, reject) => ends.addEventListener("abort", () => reject(new Error("stopped")), { once: true }));
  const stopsIn = (ms: number) => (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener("abort", () => setTimeout(() => resolve("stopped"), ms)));

  it("returns its value, or fails for its own reason", async () => {
    using deadline = new Deadline(100, late);
    expect(await withDeadline({ deadline, signal: NEVER }, async () => 5)).toBe(5);
    await expect(withDeadline({ deadline }, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  it("is stopped at the deadline, and fails with its reason", async () => {
    using deadline = new Deadline(100, late);
    const outcome = expect(withDeadline({ deadline, signal: NEVER }, untilTold)).rejects.toEqual(late());
    vi.advanceTimersByTime(100);
    await outcome;
  });

  it("is stopped by the signal, and fails with its reason", async () => {
    using deadline = new Deadline(100, late);
    const turn = new AbortController();
    const reason = new Error("interrupted");
    const outcome = expect(withDeadline({ deadline, signal: turn.signal }, untilTold)).rejects.toBe(reason);
    turn.abort(reason);
    await outcome;
  });

  it("may take as long to stop as it needs, unless that is limited", async () => {
    using deadline = new Deadline(1_000, late);
    const call = new AbortController();
    const { signal } = call;
    const patient = withDeadline({ deadline, signal }, stopsIn(400));
    const stopped = withDeadline({ deadline, signal, stopMs: 500 }, stopsIn(400));
    const givenUp = expect(withDeadline({ deadline, signal, stopMs: 300 }, stopsIn(400))).rejects.toThrow("not wanted");
    call.abort(new Error("not wanted"));
    await vi.advanceTimersByTimeAsync(400);
    expect(await Promise.all([patient, stopped])).toEqual(["stopped", "stopped"]);
    await givenUp;
  });

  it("is abandoned at once without a stop timeout, even if it was aborted before", async () => {
    using deadline = new Deadline(1_000, late);
    let told: AbortSignal | undefined;
    const waiting = withDeadline({ deadline, signal: NEVER, stopMs: 0 }, (signal) => {
      told = signal;
      return never();
    });
    const ended = expect(waiting).rejects.toEqual(late());
    await vi.advanceTimersByTimeAsync(1_001);
    await ended;
    expect(told?.reason).toEqual(late());
    const again = expect(withDeadline({ deadline, stopMs: 0 }, never)).rejects.toEqual(late());
    await vi.advanceTimersByTimeAsync(1);
    await again;
  });
});

describe("an idle deadline", () => {
  it("aborts if it was not touched in time", () => {
    using idle = new IdleDeadline(100, NEVER);
    vi.advanceTimersByTime(99);
    expect([idle.signal.aborted, idle.hasPassed]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([idle.signal.aborted, idle.hasPassed]).toEqual([true, true]);
  });

  it("restarts with each touch", () => {
    using idle = new IdleDeadline(100, NEVER);
    for (let touched = 0; touched < 5; touched++) {
      vi.advanceTimersByTime(99);
      idle.touch();
    }
    expect(idle.signal.aborted).toBe(false);
    vi.advanceTimersByTime(100);
    expect(idle.signal.aborted).toBe(true);
  });

  it("aborts with the outer signal, for its reason and not as a timeout", () => {
    const outer = new AbortController();
    using idle = new IdleDeadline(100, outer.signal);
    outer.abort("stop");
    expect([idle.signal.aborted, idle.signal.reason, idle.hasPassed]).toEqual([true, "stop", false]);
  });

  it("is aborted from the start if the outer signal is", () => {
    using idle = new IdleDeadline(100, AbortSignal.abort("earlier"));
    expect(idle.signal.reason).toBe("earlier");
  });

  it("keeps no timer after it was disposed", () => {
    const outer = new AbortController();
    const idle = new IdleDeadline(100, outer.signal);
    idle[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
    outer.abort();
    vi.advanceTimersByTime(1000);
    expect([idle.signal.aborted, idle.hasPassed]).toEqual([false, false]);
  });
});
