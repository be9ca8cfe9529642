import { describe, expect, it } from "vitest";
import { NO_RATE_LIMITS } from "../../../threads/usage.js";
import type { ModelFailure } from "./client.js";
import { failureOfResponse, failureOfStatus, maskSent, readableTime, readRetryAfter, usageLimitText } from "./failures.js";
import type { ResponseHeaders } from "./provider.js";

function refused(status: number, body = "BODY", headers: ResponseHeaders = {}) {
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
    [599, "unexpected status 599 <unknown status code>: BODY, url: http://model/v1/responses", "request"],
  ])("with status %i", (status, message, retry) => {
    expect(refused(status)).toEqual({ message, info: "other", retry });
  });

  it.each([401, 403, 404, 422])("with status %i was retried by Codex 0.92.0 like an answer that broke off", (status) => {
    const failure = failureOf(status, "BODY");
    expect(told(failure.asRecorded())).toEqual({ ...told(failure), retry: "stream" });
  });

  it.each([
    [{ "x-request-id": "req_1", "cf-ray": "ray" }, ", request id: ray"],
    [{ "x-request-id": "req_1" }, ", request id: req_1"],
    [{ "x-oai-request-id": "req_2" }, ", request id: req_2"],
    [{ "x-request-id": "" }, ""],
  ])("names the provider's id for it: %j", (headers, named) => {
    const { message } = failureOfStatus({ status: 503, headers, body: "busy", url: "http://x/v1/responses" });
    expect(message).toBe(`unexpected status 503 Service Unavailable: busy, url: http://x/v1/responses${named}`);
  });

  it.each([
    [418, "418 I'm a teapot"],
    [509, "509 <unknown status code>"],
  ])("with status %i is worded as Codex words it", (status, phrase) => {
    expect(failureOfStatus({ status, headers: {}, body: "", url: "u" }).message).toBe(`unexpected status ${phrase}: , url: u`);
  });

  it("with status 500 mentions high demand", () => {
    expect(refused(500)).toEqual({
      message: "We're currently experiencing high demand, which may cause temporary errors.",
      info: "internal_server_error",
      retry: "request",
    });
  });

  it("without a body has a message", () => {
    expect(refused(400, " \n").message).toBe("unexpected status 400 Bad Request: , url: http://model/v1/responses");
  });

  it("with status 429 is asked again, when the server says or by our own back-off", () => {
    const tooMany = {
      message: "exceeded retry limit, last status: 429 Too Many Requests",
      info: { response_too_many_failed_attempts: { http_status_code: 429 } },
      retry: "requestOnly",
    };
    expect(refused(429)).toEqual(tooMany);
    expect(refused(429, '{"error":"slow down"}', { "retry-after": "7" })).toEqual({ ...tooMany, retryAfterMs: 7000 });
    expect(refused(429, '{"error":{"type":"rate_limit"}}')).toEqual(tooMany);
    expect(refused(429, "null")).toEqual(tooMany);
  });

  it.each([500, 503])("with status %i waits as long as the server asks", (status) => {
    expect(refused(status, "", { "retry-after": "2" })).toMatchObject({ retry: "request", retryAfterMs: 2000 });
  });

  it("because of a plan's limit is not retried, and reports the limits", () => {
    const body = JSON.stringify({ error: { type: "usage_limit_reached", plan_type: "team" } });
    const headers = { "x-codex-primary-used-percent": "100", "retry-after": "1" };
    expect(refused(429, body, headers)).toEqual({
      message: "You've hit your usage limit. To get more access now, send a request to your admin or try again later.",
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

  it("because of a plan's limit that names no limits keeps the known ones; Codex 0.92.0 dropped them", () => {
    const body = JSON.stringify({ error: { type: "usage_limit_reached" } });
    const failure = failureOfStatus({ status: 429, headers: {}, body, url: "http://model/v1/responses" });
    expect([failure.rateLimits, failure.asRecorded().rateLimits]).toEqual([undefined, NO_RATE_LIMITS]);
    expect(failure.asRecorded()).toMatchObject({ message: failure.message, retry: "never", status: 429 });
  });

  it("because the plan lacks the model is not asked again", () => {
    expect(refused(429, JSON.stringify({ error: { type: "usage_not_included" } }))).toEqual({
      message: "To use Codex with your ChatGPT plan, upgrade to Plus: https://openai.com/chatgpt/pricing.",
      info: "usage_limit_exceeded",
      retry: "never",
    });
  });
});

describe("a refusal with a cause of its own", () => {
  it("names an unreadable image", () => {
    const body = JSON.stringify({ error: { message: "The image data you provided does not represent a valid image" } });
    expect(refused(400, body)).toMatchObject({
      message: "Invalid image in your last message. Please remove it and try again.",
      info: "bad_request",
    });
  });

  it("names a web page in front of the provider", () => {
    expect(refused(403, "<html>Cloudflare: you have been blocked</html>").message).toBe(
      "Access blocked by Cloudflare. This usually happens when connecting from a restricted region (status 403 Forbidden), url: http://model/v1/responses",
    );
    expect(refused(403, "<html>no</html>").message).toBe(
      "unexpected status 403 Forbidden: <html>no</html>, url: http://model/v1/responses",
    );
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
      {
        message: "To use Codex with your ChatGPT plan, upgrade to Plus: https://openai.com/chatgpt/pricing.",
        info: "usage_limit_exceeded",
        retry: "never",
      },
    ],
    [
      { code: "invalid_prompt", message: "Not that." },
      { message: "Not that.", info: "other", retry: "never" },
    ],
    [
      { code: "invalid_prompt", message: "" },
      { message: "Invalid request.", info: "other", retry: "never" },
    ],
    [
      { code: "server_error", message: "MESSAGE" },
      { message: "stream disconnected before completion: MESSAGE", info: "other", retry: "stream" },
    ],
    [
      { code: "server_error", message: "Please try again in 5s." },
      { message: "stream disconnected before completion: Please try again in 5s.", info: "other", retry: "stream" },
    ],
    [undefined, { message: "stream disconnected before completion: response.failed event received", info: "other", retry: "stream" }],
    ["text", { message: "stream disconnected before completion: response.failed event received", info: "other", retry: "stream" }],
  ])("%j", (error, failure) => {
    expect(told(failureOfResponse(error))).toEqual(failure);
  });

  it.each([
    [{ code: "x" }, ""],
    [{ code: "x", message: "" }, ""],
    [{ code: 5, message: "MESSAGE" }, "response.failed event received"],
    [{ message: "MESSAGE" }, "MESSAGE"],
  ])("%j, as Codex 0.92.0 repeated it", (error, words) => {
    expect(failureOfResponse(error).asRecorded().message).toBe(`stream disconnected before completion: ${words}`);
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

  it.each<[ResponseHeaders, number | undefined]>([
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

const NEW_CENTURY = new Date(2100, 0, 1);

describe("the text of a usage limit", () => {
  it.each([
    [
      "plus",
      "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Jan 1st, 2100 12:00 AM.",
    ],
    [
      "pro",
      "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Jan 1st, 2100 12:00 AM.",
    ],
    ["team", "You've hit your usage limit. To get more access now, send a request to your admin or try again at Jan 1st, 2100 12:00 AM."],
    ["free", "You've hit your usage limit. Upgrade to Plus to continue using Codex (https://openai.com/chatgpt/pricing)."],
    ["enterprise", "You've hit your usage limit. Try again at Jan 1st, 2100 12:00 AM."],
    [undefined, "You've hit your usage limit. Try again at Jan 1st, 2100 12:00 AM."],
  ])("names the way out of plan %s", (planType, text) => {
    expect(usageLimitText({ planType, resetsAt: NEW_CENTURY.getTime() / 1000 })).toBe(text);
  });

  it("names no time if none is given", () => {
    expect(usageLimitText({ planType: "plus", resetsAt: "soon" })).toMatch(/ or try again later\.$/);
  });
});

describe("a moment, for people", () => {
  const now = new Date(2026, 4, 5, 9, 0);

  it.each([
    [new Date(2026, 4, 5, 0, 5), "12:05 AM"],
    [new Date(2026, 4, 5, 12, 30), "12:30 PM"],
    [new Date(2026, 4, 5, 23, 59), "11:59 PM"],
    [new Date(2026, 4, 2, 9, 0), "May 2nd, 2026 9:00 AM"],
    [new Date(2026, 4, 3, 9, 0), "May 3rd, 2026 9:00 AM"],
    [new Date(2026, 4, 11, 9, 0), "May 11th, 2026 9:00 AM"],
    [new Date(2026, 4, 12, 9, 0), "May 12th, 2026 9:00 AM"],
    [new Date(2026, 4, 13, 9, 0), "May 13th, 2026 9:00 AM"],
    [new Date(2026, 4, 21, 9, 0), "May 21st, 2026 9:00 AM"],
    [new Date(2026, 4, 22, 9, 0), "May 22nd, 2026 9:00 AM"],
    [new Date(2026, 4, 30, 9, 0), "May 30th, 2026 9:00 AM"],
    [new Date(2027, 4, 5, 9, 0), "May 5th, 2027 9:00 AM"],
  ])("%s", (at, text) => {
    expect(readableTime(at, now)).toBe(text);
  });
});

it("removes the values of headers from a text, wherever they are", () => {
  const headers = { authorization: "Bearer sk-0123456789", "api-key": "another-secret" };
  expect(maskSent("sk-0123456789 and another-secret, again: Bearer sk-0123456789", headers)).toEqual("**** and ****, again: Bearer ****");
});

it("leaves short values alone, which are not secrets", () => {
  expect(maskSent("version 1 of 10", { "api-version": "1" })).toEqual("version 1 of 10");
});

describe("the address that was asked", () => {
  const url = new URL("https://me:p%40ssw0rd@example.org/v1/responses");
  url.searchParams.set("key", "a b/c+d&e=\"f'g");
  url.searchParams.set("code", "x1");
  url.searchParams.set("api-version", "2024-10-21");
  const key = url.searchParams.get("key") ?? "";

  it.each([
    ["as it is", key],
    ["as it was sent", url.search],
    ["percent-encoded", encodeURIComponent(key)],
    ["percent-encoded in small letters", encodeURIComponent(key).toLowerCase()],
    ["percent-encoded twice", encodeURIComponent(encodeURIComponent(key))],
    ["in JSON", JSON.stringify({ url: key })],
    ["in JSON within JSON", JSON.stringify({ url: JSON.stringify(key) })],
    ["in careful JSON", key.replaceAll(/[^a-z]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`)],
    ["on a page", key.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("'", "&#39;")],
  ])("is masked %s", (_, said) => {
    const masked = maskSent(`cannot ${said} here`, {}, url);
    expect(masked).toContain("****");
    expect(masked).not.toMatch(/c(?:\+|%2b|%252b|\\u002b)d/i);
    expect(masked).toMatch(/^cannot .* here$/s);
  });

  it("is masked with its password, and with short values by their names", () => {
    expect(maskSent(`GET ${url.href}: x1 is not a code`, {}, url)).toBe(
      "GET https://me:****@example.org/v1/responses?key=****&code=****&api-version=2024-10-21: x1 is not a code",
    );
  });
});

it("is found in linear time in text made to be slow", () => {
  const hostile = ["\\", "%25", "\\u0", "a"].map((piece) => piece.repeat(65_536 / piece.length)).join("");
  expect(maskSent(hostile, { authorization: `Bearer ${"a".repeat(200)}/b`, other: `/${"+".repeat(50)}` })).toBe(hostile);
});

function failureOf(status: number, body: string, headers: ResponseHeaders = {}) {
  return failureOfStatus({ status, headers, body, url: "http://model/v1/responses" });
}

describe("what the error of a refused request adds to Codex's words", () => {
  it.each([
    [404, '{"error":{"message":"The model `x` does not exist or you do not have access to it.","code":"model_not_found"}}'],
    [400, '{"detail":"The \'x\' model is not supported when using Codex with a ChatGPT account."}'],
    [404, '{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}'],
    [404, '{"error":{"message":"model \\"x\\" not found, try pulling it first","type":"api_error"}}'],
    [400, '{"error":{"message":"x is not a valid model ID","code":400}}'],
    [404, '{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}'],
    [410, '{"error":{"message":"The model x has been deprecated"}}'],
    [403, '{"error":{"message":"Project p does not have access to model x","code":"model_not_found"}}'],
  ])("%i that names the model as missing says so: %s", (status, body) => {
    expect(failureOf(status, body)).toMatchObject({ missesModel: true, retry: "never" });
  });

  it.each([
    [400, '{"error":{"message":"Unsupported parameter: reasoning is not supported with this model.","code":"unsupported_parameter"}}'],
    [400, '{"error":{"message":"This model does not support image inputs."}}'],
    [404, "Not Found"],
    [401, '{"error":{"code":"model_not_found"}}'],
    [500, '{"error":{"code":"model_not_found"}}'],
  ])("%i for another reason does not: %s", (status, body) => {
    expect(failureOf(status, body).missesModel).toBe(false);
  });

  it("for a limit says when it resets, wherever that is written", () => {
    const soon = Math.ceil(Date.now() / 1000) + 3600;
    const used = (error: object, headers: ResponseHeaders = {}) =>
      failureOf(429, JSON.stringify({ error: { type: "usage_limit_reached", ...error } }), headers).advice;
    const at = `The limit resets at ${new Date(soon * 1000).toISOString().replace(/\.\d+Z/, "Z")} (in `;
    expect(used({ resets_at: soon })).toContain(at);
    expect(used({}, { "x-codex-primary-used-percent": "100", "x-codex-primary-reset-at": String(soon) })).toContain(at);
    const both = { "x-codex-primary-used-percent": "3", "x-codex-primary-reset-at": "1", "x-codex-secondary-used-percent": "100" };
    expect(used({}, { ...both, "x-codex-secondary-reset-at": String(soon) })).toContain(at);
    expect(used({ resets_in_seconds: 90 })).toMatch(/\(in 2 min\)\.$/);
    expect(used({}, { "retry-after": "30" })).toMatch(/\(in (30|31) s\)\.$/);
    expect([used({}), used({ resets_at: 1 }), used({ resets_at: 1e300 })]).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    [500, '{"error":{"message":"CUDA out of memory"}}', "The provider says: CUDA out of memory"],
    [500, '{"detail":"the adapter is not loaded"}', "The provider says: the adapter is not loaded"],
    [500, "worker\n died", "The provider says: worker died"],
    [500, '{"error":"no worker"}', "The provider says: no worker"],
    [500, "a\u001b[2Jb\u202ec", "The provider says: a\\u{1b}[2Jb\\u{202e}c"],
    [429, '{"error":{"message":"30 requests a minute"}}', "The provider says: 30 requests a minute"],
    [500, "<html><body>oops</body></html>", undefined],
    [500, " ", undefined],
    [500, "[1]", undefined],
  ])("%i without the cause has the provider's own words: %s", (status, body, advice) => {
    expect(failureOf(status, body).advice).toBe(advice);
  });

  it("names at most a line of the provider's words", () => {
    expect(failureOf(500, "x ".repeat(10_000)).advice).toHaveLength("The provider says: ".length + 300);
  });

  it.each([
    [404, {}, "Perhaps there is no Responses API at this address."],
    [405, {}, "There is no Responses API at this address."],
    [
      302,
      { location: "https://u:p@login.example/in?key=1" },
      "The provider redirects to https://login.example; a redirect is not followed",
    ],
    [307, {}, "The provider redirects; a redirect is not followed"],
  ])("%i says that the address is wrong: %j", (status, headers, words) => {
    const { advice } = failureOf(status, "no", headers);
    expect(advice).toContain(words);
    expect(advice).toContain("Check that base_url in config.toml leads to a provider that offers the Responses API");
  });

  it("407 is the answer of a proxy", () => {
    expect(failureOf(407, "no").advice).toContain("A proxy wants a login");
  });

  it("404 about the model is not about the address", () => {
    expect(failureOf(404, '{"error":{"code":"model_not_found"}}').advice).toBeUndefined();
  });
});
