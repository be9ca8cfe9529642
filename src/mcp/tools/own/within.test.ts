import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TookTooLong } from "./errors.js";
import { within } from "./within.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const WANTED = { signal: new AbortController().signal };
const never = () => new Promise<never>(() => {});

it("work that ends in time gives what it gives", async () => {
  expect(await within({ ms: 1_000 }, WANTED, async () => "done")).toBe("done");
  await expect(within({ ms: 1_000 }, WANTED, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
});

it("work that does not end is told to, and given up when its time is over", async () => {
  let told: AbortSignal | undefined;
  const waiting = within({ ms: 1_000 }, WANTED, (signal) => {
    told = signal;
    return never();
  });
  const ended = expect(waiting).rejects.toEqual(new TookTooLong(1_000));
  await vi.advanceTimersByTimeAsync(1_001);
  await ended;
  expect(told?.reason).toEqual(new TookTooLong(1_000));
});

it("work of a call that is cancelled is given up", async () => {
  const call = new AbortController();
  const ended = expect(within({ ms: 1_000 }, call, never)).rejects.toThrow("not wanted");
  call.abort(new Error("not wanted"));
  await vi.advanceTimersByTimeAsync(1);
  await ended;
});

it("a call that was cancelled before waits for nothing", async () => {
  const call = new AbortController();
  call.abort(new Error("not wanted"));
  const ended = expect(within({ ms: 1_000 }, call, never)).rejects.toThrow("not wanted");
  await vi.advanceTimersByTimeAsync(1);
  await ended;
});

it("work that needs time to stop gets it", async () => {
  const call = new AbortController();
  const stopsIn = (ms: number) => (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener("abort", () => setTimeout(() => resolve("stopped"), ms)));
  const stopped = within({ ms: 1_000, stopMs: 500 }, call, stopsIn(400));
  const givenUp = expect(within({ ms: 1_000, stopMs: 300 }, call, stopsIn(400))).rejects.toThrow("not wanted");
  call.abort(new Error("not wanted"));
  await vi.advanceTimersByTimeAsync(400);
  expect(await stopped).toBe("stopped");
  await givenUp;
});
