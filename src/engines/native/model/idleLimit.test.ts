import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IdleLimit } from "./idleLimit.js";

describe("an idle limit", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("aborts when nobody touched it in time", () => {
    const idle = new IdleLimit(100, new AbortController().signal);
    vi.advanceTimersByTime(99);
    expect([idle.signal.aborted, idle.expired]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([idle.signal.aborted, idle.expired]).toEqual([true, true]);
  });

  it("begins anew with each touch", () => {
    const idle = new IdleLimit(100, new AbortController().signal);
    for (let touched = 0; touched < 5; touched++) {
      vi.advanceTimersByTime(99);
      idle.touch();
    }
    expect(idle.signal.aborted).toBe(false);
    vi.advanceTimersByTime(100);
    expect(idle.signal.aborted).toBe(true);
  });

  it("aborts with the outer signal and for its reason, which is no expiry", () => {
    const outer = new AbortController();
    const idle = new IdleLimit(100, outer.signal);
    outer.abort("stop");
    expect([idle.signal.aborted, idle.signal.reason, idle.expired]).toEqual([true, "stop", false]);
  });

  it("is aborted from the start when the outer signal was", () => {
    expect(new IdleLimit(100, AbortSignal.abort("earlier")).signal.reason).toBe("earlier");
  });

  it("that was stopped waits for nothing and nobody", () => {
    const outer = new AbortController();
    const idle = new IdleLimit(100, outer.signal);
    idle.stop();
    expect(vi.getTimerCount()).toBe(0);
    outer.abort();
    vi.advanceTimersByTime(1000);
    expect([idle.signal.aborted, idle.expired]).toEqual([false, false]);
  });
});
