import { describe, expect, it } from "vitest";
import { ModelFailure, RetryBudget } from "./client.js";

function failure(retry: ModelFailure["retry"], retryAfterMs?: number): ModelFailure {
  return new ModelFailure("failed", { retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}

function budget(limits: { request?: number; stream?: number }, random = 0.5): RetryBudget {
  return new RetryBudget({ requestMaxRetries: limits.request ?? 0, streamMaxRetries: limits.stream ?? 0 }, () => random);
}

describe("the retries of one model request", () => {
  it("back off, twice as long each time, up to half a minute", () => {
    const retries = budget({ request: 10 });
    const waits = Array.from({ length: 10 }, () => retries.next(failure("request"))?.waitMs);
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  });

  it.each([
    [0, 180],
    [1, 220],
  ])("are spread by a tenth: random %d", (random, waitMs) => {
    expect(budget({ request: 1 }, random).next(failure("request"))?.waitMs).toBeCloseTo(waitMs);
  });

  it("end when the budget is used up", () => {
    const retries = budget({ stream: 2 });
    expect([1, 2, 3].map(() => retries.next(failure("stream")))).toEqual([
      { level: "stream", attempt: 1, limit: 2, waitMs: 200 },
      { level: "stream", attempt: 2, limit: 2, waitMs: 400 },
      undefined,
    ]);
  });

  it("repeat a request before they repeat the exchange, and repeat it as often in each", () => {
    const retries = budget({ request: 2, stream: 1 });
    const levels = Array.from({ length: 6 }, () => retries.next(failure("request"))?.level);
    expect(levels).toEqual(["request", "request", "stream", "request", "request", undefined]);
  });

  it("come to thirty requests with Codex's own limits", () => {
    const retries = budget({ request: 4, stream: 5 });
    let requests = 1;
    let waitMs = 0;
    for (let plan = retries.next(failure("request")); plan; plan = retries.next(failure("request"))) {
      requests++;
      waitMs += plan.waitMs;
    }
    expect({ requests, waitMs }).toEqual({ requests: 30, waitMs: 24_200 });
  });

  it("repeat a request that met a limit, but not the exchange", () => {
    const retries = budget({ request: 1, stream: 5 });
    expect([1, 2].map(() => retries.next(failure("requestOnly"))?.level)).toEqual(["request", undefined]);
  });

  it("do not happen if the same failure would follow", () => {
    expect(budget({ request: 5, stream: 5 }).next(failure("never", 1))).toBeUndefined();
  });

  it("wait as long as the server asks, without back-off", () => {
    const retries = budget({ request: 2 });
    expect([retries.next(failure("request", 7000))?.waitMs, retries.next(failure("request", 0))?.waitMs]).toEqual([7000, 0]);
  });

  it("wait at most two minutes: beyond that the call fails", () => {
    expect(budget({ request: 1 }).next(failure("request", 120_000))?.waitMs).toBe(120_000);
    expect(budget({ request: 1 }).next(failure("request", 120_001))).toBeUndefined();
  });
});
