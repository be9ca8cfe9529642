import type { AccountLimits, KeyLimit } from "../../../threads/engineServices.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { type ResponseHeaders, readNumber, readRateLimits } from "./provider.js";

/** Providers whose limits are remembered. */
const MOST_PROVIDERS = 32;

/** What providers said about the limits of their accounts with their last answers, whichever thread asked. */
export class HeardLimits {
  readonly #heard = new Map<string, AccountLimits>();

  hear({ id, baseUrl }: ModelProvider, headers: ResponseHeaders, now = Date.now()): void {
    const limits = limitsIn(headers, now);
    if (!limits) return;
    const key = `${id} ${baseUrl}`;
    if (this.#heard.size >= MOST_PROVIDERS && !this.#heard.has(key)) this.#heard.clear();
    // An answer that tells of one limit only takes nothing back about the others.
    this.#heard.set(key, { ...this.#heard.get(key), ...limits });
  }

  of({ id, baseUrl }: ModelProvider): AccountLimits | undefined {
    return this.#heard.get(`${id} ${baseUrl}`);
  }
}

function limitsIn(headers: ResponseHeaders, now: number): AccountLimits | undefined {
  const windows = readRateLimits(headers);
  const requests = keyLimit(headers, "requests", now);
  const tokens = keyLimit(headers, "tokens", now);
  if (!windows && !requests && !tokens) return undefined;
  return { ...(windows && { windows }), ...(requests && { requests }), ...(tokens && { tokens }), at: now };
}

/** The headers of OpenAI's API, which others copied: `x-ratelimit-limit-requests`, `-remaining-requests`, `-reset-requests`. */
function keyLimit(headers: ResponseHeaders, of: "requests" | "tokens", now: number): KeyLimit | undefined {
  const limit = readNumber(headers[`x-ratelimit-limit-${of}`]);
  const remaining = readNumber(headers[`x-ratelimit-remaining-${of}`]);
  if (limit === null || remaining === null) return undefined;
  const resetMs = durationMs(headers[`x-ratelimit-reset-${of}`]);
  return { limit, remaining, resetsAt: resetMs === undefined ? null : Math.ceil((now + resetMs) / 1000) };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `6m0s`, `120ms`, `1h2m3.5s`; undefined for anything else. */
export function durationMs(text: ResponseHeaders[string]): number | undefined {
  if (typeof text !== "string" || !/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  return parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (UNITS[unit] ?? 0), 0);
}
