// Long because all provider errors are worded here, and no wording may repeat what we sent.
import { STATUS_CODES } from "node:http";
import { isFields } from "../../../lib/fields.js";
import { NO_RATE_LIMITS } from "../../../threads/usage.js";
import { adviceInItsWords, adviceOnAddress, resetAdvice, resetOf } from "./advice.js";
import { ModelFailure } from "./client.js";
import { durationMs, type ResponseHeaders, readRateLimits } from "./provider.js";

interface RefusedAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
  readonly url: string;
}

/** An HTTP error status → the failure, in Codex's wording. */
export function failureOfStatus({ status, headers, body, url }: RefusedAnswer): ModelFailure {
  const phrase = `${status} ${REASONS[status] ?? STATUS_CODES[status] ?? "<unknown status code>"}`;
  const asked = `url: ${url}${requestIdIn(headers)}`;
  const retryAfterMs = readRetryAfter(headers, Date.now());
  const again = { status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  switch (status) {
    case 400:
      if (body.includes(INVALID_IMAGE))
        return new ModelFailure("Invalid image in your last message. Please remove it and try again.", {
          retry: "never",
          info: "bad_request",
        });
      return new ModelFailure(body.trim() === "" ? `unexpected status ${phrase}: , url: ${url}` : body, {
        retry: "never",
        missesModel: saysModelIsMissing(body),
      });
    case 401:
      return new ModelFailure(`unexpected status ${phrase}: `, { status, retry: "never", recorded: RETRIED });
    case 429:
      return (
        usageLimit(body, headers) ??
        new ModelFailure(`exceeded retry limit, last status: ${phrase}${requestIdIn(headers)}`, {
          retry: "requestOnly",
          info: { response_too_many_failed_attempts: { http_status_code: 429 } },
          ...again,
          ...adviceOfLimit(body, headers),
        })
      );
    case 500:
      return new ModelFailure("We're currently experiencing high demand, which may cause temporary errors.", {
        retry: "request",
        info: "internal_server_error",
        ...advising(adviceInItsWords(body)),
        ...again,
      });
    default: {
      const missesModel = [403, 404, 410].includes(status) && saysModelIsMissing(body);
      return new ModelFailure(
        isBlockedByCloudflare(status, body) ? blockedText(phrase, asked) : `unexpected status ${phrase}: ${body}, ${asked}`,
        {
          ...(isPassing(status) ? { retry: "request" } : { retry: "never", recorded: RETRIED }),
          missesModel,
          ...advising(missesModel ? undefined : adviceOnAddress(status, headers["location"], url)),
          ...again,
        },
      );
    }
  }
}

function advising(advice: string | undefined): { readonly advice?: string } {
  return advice === undefined ? {} : { advice };
}

/** Codex 0.92.0 retried a refusal like an answer that broke off. */
const RETRIED = { retry: "stream" } as const;

/** Reason phrases that Codex words differently from Node. */
const REASONS: Readonly<Record<number, string>> = { 418: "I'm a teapot", 509: "<unknown status code>" };

/** The provider's name for the request: its support asks for it. */
function requestIdIn(headers: ResponseHeaders): string {
  const id = ["cf-ray", "x-request-id", "x-oai-request-id"]
    .map((name) => headers[name])
    .find((value) => typeof value === "string" && value);
  return id === undefined ? "" : `, request id: ${String(id)}`;
}

/** The Responses API's error for an unreadable image. */
const INVALID_IMAGE = "The image data you provided does not represent a valid image";

function isBlockedByCloudflare(status: number, body: string): boolean {
  return status === 403 && body.includes("Cloudflare") && body.includes("blocked");
}

function blockedText(phrase: string, asked: string): string {
  return `Access blocked by Cloudflare. This usually happens when connecting from a restricted region (status ${phrase}), ${asked}`;
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
      return new ModelFailure("To use Codex with your ChatGPT plan, upgrade to Plus: https://openai.com/chatgpt/pricing.", {
        retry: "never",
        info: "usage_limit_exceeded",
      });
    case "invalid_prompt":
      return new ModelFailure(message ?? "Invalid request.", { retry: "never" });
    default: {
      const retryAfterMs = code === "rate_limit_exceeded" ? delayInText(message ?? "") : undefined;
      return new ModelFailure(`stream disconnected before completion: ${message ?? WITHOUT_WORDS}`, {
        retry: "stream",
        recorded: { message: `stream disconnected before completion: ${recordedWords(error)}` },
        missesModel: MISSING_MODEL_CODES.has(code),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      });
    }
  }
}

/** `retry-after` in seconds or as a date, or `retry-after-ms`. */
export function readRetryAfter(headers: ResponseHeaders, nowMs: number): number | undefined {
  const ms = amount(headers["retry-after-ms"]);
  if (ms !== undefined) return ms;
  const seconds = amount(headers["retry-after"]);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(String(headers["retry-after"]));
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function amount(header: ResponseHeaders[string]): number | undefined {
  return typeof header === "string" && /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : undefined;
}

/** Temporary statuses: a retry may help. */
function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status >= 500;
}

function usageLimit(body: string, headers: ResponseHeaders): ModelFailure | undefined {
  const error = parseError(body);
  if (error?.["type"] === "usage_not_included") return failureOfResponse({ code: "usage_not_included", message: "" });
  if (error?.["type"] !== "usage_limit_reached") return undefined;
  const rateLimits = readRateLimits(headers);
  return new ModelFailure(usageLimitText({ planType: error["plan_type"], resetsAt: error["resets_at"] }), {
    retry: "never",
    info: "usage_limit_exceeded",
    status: 429,
    ...resetAdvice(resetIn(error) ?? resetOf(rateLimits) ?? resetAfter(headers)),
    // Codex 0.92.0 dropped the previous limits where the refusal names none.
    ...(rateLimits ? { rateLimits } : { recorded: { rateLimits: NO_RATE_LIMITS } }),
  });
}

/** When the limit resets according to the error object, in seconds since 1970. */
function resetIn(error: Record<string, unknown>): number | undefined {
  const { resets_at: at, resets_in_seconds: inSeconds } = error;
  if (typeof at === "number") return at;
  return typeof inSeconds === "number" ? Math.ceil(Date.now() / 1000 + inSeconds) : undefined;
}

function resetAfter(headers: ResponseHeaders): number | undefined {
  const ms = readRetryAfter(headers, Date.now());
  return ms === undefined ? undefined : Math.ceil((Date.now() + ms) / 1000);
}

/** For a key: its quota is used up, or it is rate limited. */
function adviceOfLimit(body: string, headers: ResponseHeaders): { readonly advice?: string } {
  const error = parseError(body);
  if ([error?.["code"], error?.["type"]].includes("insufficient_quota"))
    return { advice: "The account of this key has no quota left: check its plan and billing details, or use another key." };
  const resets = (["requests", "tokens"] as const).map((of) =>
    headers[`x-ratelimit-remaining-${of}`] === "0" ? durationMs(headers[`x-ratelimit-reset-${of}`]) : undefined,
  );
  const waits = resets.filter((ms) => ms !== undefined);
  const reset = resetAdvice(resetAfter(headers) ?? (waits.length === 0 ? undefined : Math.ceil((Date.now() + Math.max(...waits)) / 1000)));
  const advice = [adviceInItsWords(body), reset.advice].filter((part) => part !== undefined);
  return advising(advice.length === 0 ? undefined : advice.join("\n"));
}

const MISSING_MODEL_CODES: ReadonlySet<unknown> = new Set([
  "model_not_found",
  "model_not_available",
  "model_not_supported",
  "unsupported_model",
  "DeploymentNotFound",
]);
/** The wordings of OpenAI, Azure, vLLM, Ollama, OpenRouter and ChatGPT's backend. */
const MISSING_MODEL_WORDS = [
  /\bmodel\b.{0,120} (does not|doesn't) exist/is,
  /\bmodel\b.{0,120} not found/is,
  /\bmodel\b.{0,120} (is|was|has been) (not (supported|available|offered)|deprecated|retired|shut ?down|removed|discontinued|no longer)/is,
  /\b(unknown|invalid|no such|unsupported) model\b/i,
  /\bnot a valid model\b/i,
];

/** Whether a refused request was refused because of its model. */
function saysModelIsMissing(body: string): boolean {
  const error = parseError(body);
  if (MISSING_MODEL_CODES.has(error?.["code"]) || MISSING_MODEL_CODES.has(error?.["type"])) return true;
  const text = body.slice(0, LONGEST_COMPLAINT);
  return MISSING_MODEL_WORDS.some((words) => words.test(text));
}

/** An error about the model is at the beginning of the body. */
const LONGEST_COMPLAINT = 2_000;

function parseError(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = typeof parsed === "object" && parsed !== null && "error" in parsed ? parsed.error : undefined;
    return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const WITHOUT_WORDS = "response.failed event received";

/** Codex 0.92.0 ignored an error with a field of another type, and repeated an empty message. */
function recordedWords(error: unknown): string {
  if (!isFields(error)) return WITHOUT_WORDS;
  const isWord = (field: unknown) => field === undefined || field === null || typeof field === "string";
  const { code, message, type } = error;
  if (!isWord(code) || !isWord(message) || !isWord(type)) return WITHOUT_WORDS;
  return typeof message === "string" ? message : "";
}

function readError(error: unknown): { readonly code: string; readonly message: string | undefined } {
  const { code, message } = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  return {
    code: typeof code === "string" ? code : "",
    message: typeof message === "string" && message !== "" ? message : undefined,
  };
}

// "Please try again in 1.5s" / "in 300ms": the only place where this limit's delay is given.
function delayInText(message: string): number | undefined {
  const match = /try again in\s*(\d+(?:\.\d+)?)\s*(ms|s|seconds?)/i.exec(message);
  if (!match) return undefined;
  return Number(match[1]) * (match[2]?.toLowerCase() === "ms" ? 1 : 1000);
}

/** The text for a ChatGPT plan's usage limit, with the options that the plan has. */
export function usageLimitText({ planType, resetsAt }: { readonly planType: unknown; readonly resetsAt: unknown }): string {
  const again = typeof resetsAt === "number" ? `try again at ${readableTime(new Date(resetsAt * 1000), new Date())}` : "try again later";
  const more = "visit https://chatgpt.com/codex/settings/usage to purchase more credits";
  switch (planType) {
    case "plus":
      return `You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), ${more} or ${again}.`;
    case "pro":
      return `You've hit your usage limit. ${capitalised(more)} or ${again}.`;
    case "team":
    case "business":
      return `You've hit your usage limit. To get more access now, send a request to your admin or ${again}.`;
    case "free":
      return "You've hit your usage limit. Upgrade to Plus to continue using Codex (https://openai.com/chatgpt/pricing).";
    default:
      return `You've hit your usage limit. ${capitalised(again)}.`;
  }
}

function capitalised(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** "Jan 1st, 2100 12:00 AM" in local time; only the time for today. */
export function readableTime(at: Date, now: Date): string {
  const hour = at.getHours();
  const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${String(at.getMinutes()).padStart(2, "0")} ${hour < 12 ? "AM" : "PM"}`;
  if (at.toDateString() === now.toDateString()) return clock;
  const month = at.toLocaleString("en-US", { month: "short" });
  return `${month} ${at.getDate()}${ordinal(at.getDate())}, ${at.getFullYear()} ${clock}`;
}

function ordinal(day: number): string {
  if (day >= 11 && day <= 13) return "th";
  return { 1: "st", 2: "nd", 3: "rd" }[day % 10] ?? "th";
}

/** Shorter values may occur in a text by chance. */
const SHORTEST_SECRET = 8;
/** Longer secrets are only searched for literally, JSON-escaped and percent-encoded. */
const LONGEST_SPELT_OUT = 1_024;
const MASK = "****";
/** Query parameters that are not secret and that error messages mention. */
const HARMLESS = /^(?:api[-_]?)?version$/i;

/**
 * Masks our own values in a server's response: some servers repeat the refused key or the whole URL, perhaps JSON-escaped, percent-encoded
 * or as HTML entities.
 */
export function maskSent(text: string, headers: Readonly<Record<string, string>>, url?: URL): string {
  const query = [...(url?.searchParams ?? [])].filter(([name]) => !HARMLESS.test(name));
  const values = [...Object.values(headers).map((value) => value.replace(/^(?:Bearer|Basic) /i, "")), ...credentialsIn(url)];
  const secrets = [...values, ...query.map(([, value]) => value)].filter(({ length }) => length >= SHORTEST_SECRET);
  // Longest first: one may be a prefix of another.
  const masked = [...new Set(secrets)].sort((a, b) => b.length - a.length).reduce(withoutSecret, text);
  return query.filter(([, value]) => value !== "" && value.length < SHORTEST_SECRET).reduce(withoutParameter, masked);
}

function credentialsIn(url: URL | undefined): string[] {
  return url ? [url.username, url.password].flatMap((part) => [part, decoded(part)]) : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A lone surrogate cannot be percent-encoded. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

function withoutSecret(text: string, secret: string): string {
  if (secret.length <= LONGEST_SPELT_OUT) return text.replace(new RegExp(spellings(secret), "gi"), MASK);
  const forms = [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)];
  return forms.reduce((rest, form) => rest.replaceAll(form, MASK), text);
}

/** A short value is recognised by the parameter name before it. */
function withoutParameter(text: string, [name, value]: readonly [string, string]): string {
  const pattern = new RegExp(`(?<=[?&;\\s"']|%3f|%26|^)(${spellings(name)}(?:=|%3d|\\\\u003d))${spellings(value)}(?![\\w%])`, "gi");
  return text.replace(pattern, `$1${MASK}`);
}

/**
 * Each character as it is, after backslashes (with a limit, so that hostile text is not slow), percent-encoded once or twice, as JSON's
 * `\u…`, or as an HTML entity.
 */
function spellings(secret: string): string {
  return [...secret].map(spellingsOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;|&#34;", "'": "&#39;|&apos;" };

function spellingsOf(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/, String.raw`\$&`);
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)?${hex(byte, 2)}`).join("");
  const escaped = [...Array(character.length).keys()].map((at) => String.raw`\\{1,8}u${hex(character.charCodeAt(at), 4)}`).join("");
  const others = [ENTITIES[character], character === " " ? String.raw`\+` : undefined].filter((form) => form !== undefined);
  const plain = /[A-Za-z0-9]/.test(character) ? literal : String.raw`\\{0,8}${literal}`;
  return `(?:${[escaped, percent, ...others, plain].join("|")})`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
