import { describe, expect, it } from "vitest";
import type { ModelFailure } from "./client.js";
import { type AnswerHeaders, failureOfResponse, failureOfStatus, readRetryAfter } from "./failures.js";

function refused(status: number, body = "BODY", headers: AnswerHeaders = {}) {
  return told(failureOfStatus({ status, body, headers, url: "http://model/v1/responses" }));
}

function told({ message, info, retry, retryAfterMs, rateLimits }: ModelFailure) {
  return { message, info, retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...(rateLimits ? { rateLimits } : {}) };
}

describe("a refused request", () => {
  it.each([
    [400, "BODY", "never"],
    [401, "unexpected status 401 Unauthorized: ", "never"],
    [403, "unexpected status 403 Forbidden: BODY, url: http://model/v1/responses", "never"],
    [404, "unexpected status 404 Not Found: BODY, url: http://model/v1/responses", "never"],
    [302, "unexpected status 302 Found: BODY, url: http://model/v1/responses", "never"],
    [408, "unexpected status 408 Request Timeout: BODY, url: http://model/v1/responses", "request"],
    [409, "unexpected status 409 Conflict: BODY, url: http://model/v1/responses", "request"],
    [425, "unexpected status 425 Too Early: BODY, url: http://model/v1/responses", "request"],
    [502, "unexpected status 502 Bad Gateway: BODY, url: http://model/v1/responses", "request"],
    [503, "unexpected status 503 Service Unavailable: BODY, url: http://model/v1/responses", "request"],
    [599, "unexpected status 599: BODY, url: http://model/v1/responses", "request"],
  ])("with status %i", (status, message, retry) => {
    expect(refused(status)).toEqual({ message, info: "other", retry });
  });

  it("with status 500 speaks of high demand", () => {
    expect(refused(500)).toEqual({
      message: "We're currently experiencing high demand, which may cause temporary errors.",
      info: "internal_server_error",
      retry: "request",
    });
  });

  it("without a body still says something", () => {
    expect(refused(400, " \n").message).toBe("unexpected status 400 Bad Request: , url: http://model/v1/responses");
  });

  it("with status 429 is asked again, when the server says or by our own back-off", () => {
    const tooMany = {
      message: "exceeded retry limit, last status: 429 Too Many Requests",
      info: { response_too_many_failed_attempts: { http_status_code: 429 } },
      retry: "request",
    };
    expect(refused(429)).toEqual(tooMany);
    expect(refused(429, '{"error":"slow down"}', { "retry-after": "7" })).toEqual({ ...tooMany, retryAfterMs: 7000 });
    expect(refused(429, '{"error":{"type":"rate_limit"}}')).toEqual(tooMany);
    expect(refused(429, "null")).toEqual(tooMany);
  });

  it.each([500, 503])("with status %i waits as long as the server asks", (status) => {
    expect(refused(status, "", { "retry-after": "2" })).toMatchObject({ retry: "request", retryAfterMs: 2000 });
  });

  it("because of a plan's limit is not asked again, and tells the limits", () => {
    const body = JSON.stringify({ error: { type: "usage_limit_reached", plan_type: "team" } });
    const headers = { "x-codex-primary-used-percent": "100", "retry-after": "1" };
    expect(refused(429, body, headers)).toEqual({
      message: "You've hit your usage limit. Please try again later.",
      info: "usage_limit_exceeded",
      retry: "never",
      rateLimits: {
        primary: { used_percent: 100, window_minutes: null, resets_at: null },
        secondary: null,
        credits: null,
        plan_type: null,
      },
    });
  });

  it("because the plan lacks the model is not asked again", () => {
    expect(refused(429, JSON.stringify({ error: { type: "usage_not_included" } }))).toEqual({
      message: "Your plan does not include the use of this model.",
      info: "usage_limit_exceeded",
      retry: "never",
    });
  });
});

describe("a failed answer", () => {
  it.each([
    [
      { code: "context_length_exceeded", message: "too long" },
      {
        message: "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        info: "context_window_exceeded",
        retry: "never",
      },
    ],
    [
      { code: "insufficient_quota", message: "pay" },
      { message: "Quota exceeded. Check your plan and billing details.", info: "usage_limit_exceeded", retry: "never" },
    ],
    [
      { code: "usage_not_included", message: "no" },
      { message: "Your plan does not include the use of this model.", info: "usage_limit_exceeded", retry: "never" },
    ],
    [
      { code: "invalid_prompt", message: "Not that." },
      { message: "Not that.", info: "other", retry: "never" },
    ],
    [
      { code: "invalid_prompt", message: "" },
      { message: "the model's answer failed", info: "other", retry: "never" },
    ],
    [
      { code: "server_error", message: "MESSAGE" },
      { message: "stream disconnected before completion: MESSAGE", info: "other", retry: "stream" },
    ],
    [
      { code: "server_error", message: "Please try again in 5s." },
      { message: "stream disconnected before completion: Please try again in 5s.", info: "other", retry: "stream" },
    ],
    [undefined, { message: "stream disconnected before completion: the model's answer failed", info: "other", retry: "stream" }],
    ["text", { message: "stream disconnected before completion: the model's answer failed", info: "other", retry: "stream" }],
  ])("%j", (error, failure) => {
    expect(told(failureOfResponse(error))).toEqual(failure);
  });

  it.each([
    ["Rate limit reached. Please try again in 1.5s.", 1500],
    ["Rate limit reached. Please try again in 300ms.", 300],
    ["Please TRY AGAIN IN 35 seconds.", 35_000],
    ["try again in 1 second", 1000],
    ["Rate limit reached. Try later.", undefined],
  ])("because of a rate limit is asked again when its text says: %s", (message, retryAfterMs) => {
    expect(failureOfResponse({ code: "rate_limit_exceeded", message })).toMatchObject({ retry: "stream", retryAfterMs });
  });
});

describe("how long a server asks to wait", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");

  it.each<[AnswerHeaders, number | undefined]>([
    [{}, undefined],
    [{ "retry-after": "12" }, 12_000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after": " 3 " }, 3000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after-ms": "40" }, 40],
    [{ "retry-after-ms": "40", "retry-after": "9" }, 40],
    [{ "retry-after-ms": "", "retry-after": "9" }, 9000],
    [{ "retry-after-ms": "many", "retry-after": "9" }, 9000],
  ])("%j", (headers, waitMs) => {
    expect(readRetryAfter(headers, now)).toBe(waitMs);
  });
});
