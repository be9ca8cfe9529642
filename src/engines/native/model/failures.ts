import { STATUS_CODES } from "node:http";
import { ModelFailure } from "./client.js";
import { readRateLimits } from "./rateLimits.js";
import { usageLimitText } from "./usageLimit.js";

/** Headers of an HTTP answer, names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RefusedAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
  readonly url: string;
}

/** An HTTP status that is no success → the failure, worded as Codex words it. */
export function failureOfStatus({ status, headers, body, url }: RefusedAnswer): ModelFailure {
  const phrase = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  const retryAfterMs = readRetryAfter(headers, Date.now());
  const again = retryAfterMs === undefined ? {} : { retryAfterMs };
  switch (status) {
    case 400:
      return new ModelFailure(body.trim() === "" ? `unexpected status ${phrase}: , url: ${url}` : body, { retry: "never" });
    case 401:
      return new ModelFailure(`unexpected status ${phrase}: `, { retry: "never" });
    case 429:
      return (
        usageLimit(body, headers) ??
        new ModelFailure(`exceeded retry limit, last status: ${phrase}`, {
          retry: "request",
          info: { response_too_many_failed_attempts: { http_status_code: 429 } },
          ...again,
        })
      );
    case 500:
      return new ModelFailure("We're currently experiencing high demand, which may cause temporary errors.", {
        retry: "request",
        info: "internal_server_error",
        ...again,
      });
    default:
      return new ModelFailure(`unexpected status ${phrase}: ${body}, url: ${url}`, {
        retry: isPassing(status) ? "request" : "never",
        ...again,
      });
  }
}

/** The error object of a `response.failed` (or `error`) event → the failure. */
export function failureOfResponse(error: unknown): ModelFailure {
  const { code, message } = readError(error);
  switch (code) {
    case "context_length_exceeded":
      return new ModelFailure(
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        { retry: "never", info: "context_window_exceeded" },
      );
    case "insufficient_quota":
      return new ModelFailure("Quota exceeded. Check your plan and billing details.", { retry: "never", info: "usage_limit_exceeded" });
    case "usage_not_included":
      return new ModelFailure("Your plan does not include the use of this model.", { retry: "never", info: "usage_limit_exceeded" });
    case "invalid_prompt":
      return new ModelFailure(message, { retry: "never" });
    default: {
      const retryAfterMs = code === "rate_limit_exceeded" ? delayInText(message) : undefined;
      return new ModelFailure(`stream disconnected before completion: ${message}`, {
        retry: "stream",
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      });
    }
  }
}

/** `retry-after` in seconds or as a date, or `retry-after-ms`. */
export function readRetryAfter(headers: AnswerHeaders, nowMs: number): number | undefined {
  const ms = amount(headers["retry-after-ms"]);
  if (ms !== undefined) return ms;
  const seconds = amount(headers["retry-after"]);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(String(headers["retry-after"]));
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function amount(header: AnswerHeaders[string]): number | undefined {
  return typeof header === "string" && /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : undefined;
}

/** Statuses that say "not now": asking again may help. */
function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status >= 500;
}

function usageLimit(body: string, headers: AnswerHeaders): ModelFailure | undefined {
  const error = parseError(body);
  if (error?.["type"] === "usage_not_included") return failureOfResponse({ code: "usage_not_included", message: "" });
  if (error?.["type"] !== "usage_limit_reached") return undefined;
  const rateLimits = readRateLimits(headers);
  return new ModelFailure(usageLimitText({ planType: error["plan_type"], resetsAt: error["resets_at"] }), {
    retry: "never",
    info: "usage_limit_exceeded",
    ...(rateLimits ? { rateLimits } : {}),
  });
}

function parseError(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = typeof parsed === "object" && parsed !== null && "error" in parsed ? parsed.error : undefined;
    return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function readError(error: unknown): { code: string; message: string } {
  const { code, message } = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  return {
    code: typeof code === "string" ? code : "",
    message: typeof message === "string" && message !== "" ? message : "the model's answer failed",
  };
}

// "Please try again in 1.5s" / "in 300ms": the only place where this limit's delay is given.
function delayInText(message: string): number | undefined {
  const match = /try again in\s*(\d+(?:\.\d+)?)\s*(ms|s|seconds?)/i.exec(message);
  if (!match) return undefined;
  return Number(match[1]) * (match[2]?.toLowerCase() === "ms" ? 1 : 1000);
}
