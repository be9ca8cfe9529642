import { describe, expect, it } from "vitest";
import { Steering } from "./steering.js";

function opened(signal: AbortSignal = new AbortController().signal): Steering {
  const steering = new Steering();
  steering.open(signal);
  return steering;
}

describe("what is said to a running turn", () => {
  it("waits in its order, and is taken once", () => {
    const steering = opened();
    expect([steering.offer("one"), steering.offer("two")]).toEqual([true, true]);
    expect([steering.take(), steering.take()]).toEqual([["one", "two"], []]);
    expect(steering.offer("three")).toBe(true);
    expect(steering.take()).toEqual(["three"]);
  });

  it("keeps the turn from ending until it was taken", () => {
    const steering = opened();
    steering.offer("one");
    expect(steering.closeIfNothingWaits()).toBe(false);
    expect(steering.take()).toEqual(["one"]);
    expect(steering.closeIfNothingWaits()).toBe(true);
    expect(steering.offer("too late")).toBe(false);
  });

  it("is refused when sixteen others wait", () => {
    const steering = opened();
    expect(Array.from({ length: 17 }, (_, at) => steering.offer(`${at}`)).indexOf(false)).toBe(16);
    expect(steering.take()).toHaveLength(16);
    expect(steering.offer("room again")).toBe(true);
  });

  it("is refused without a turn, and when the turn is being stopped", () => {
    expect(new Steering().offer("too early")).toBe(false);
    const abort = new AbortController();
    const steering = opened(abort.signal);
    abort.abort();
    expect(steering.offer("too late")).toBe(false);
  });

  it("does not wait for another turn", () => {
    const steering = opened();
    steering.offer("for this one");
    steering.close();
    steering.open(new AbortController().signal);
    expect(steering.take()).toEqual([]);
  });
});
