import type { RateLimits, RateLimitWindow } from "../../../threads/usage.js";

export const NO_RATE_LIMITS: RateLimits = { primary: null, secondary: null, credits: null, plan_type: null };

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The limits a provider tells in its headers; undefined when it tells none. */
export function readRateLimits(headers: Headers): RateLimits | undefined {
  const primary = readWindow(headers, "primary");
  const secondary = readWindow(headers, "secondary");
  const credits = readCredits(headers);
  if (!primary && !secondary && !credits) return undefined;
  return { primary, secondary, credits, plan_type: null };
}

function readWindow(headers: Headers, which: "primary" | "secondary"): RateLimitWindow | null {
  const used = readNumber(headers[`x-codex-${which}-used-percent`]);
  if (used === null) return null;
  return {
    used_percent: used,
    window_minutes: readNumber(headers[`x-codex-${which}-window-minutes`]),
    resets_at: readNumber(headers[`x-codex-${which}-reset-at`]),
  };
}

function readCredits(headers: Headers): RateLimits["credits"] {
  const has = headers["x-codex-credits-has-credits"];
  const unlimited = headers["x-codex-credits-unlimited"];
  if (has === undefined || unlimited === undefined) return null;
  const balance = headers["x-codex-credits-balance"];
  return {
    has_credits: isTrue(has),
    unlimited: isTrue(unlimited),
    balance: typeof balance === "string" && balance !== "" ? balance : null,
  };
}

function readNumber(value: string | string[] | undefined): number | null {
  if (typeof value !== "string" || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

function isTrue(value: string | string[]): boolean {
  return typeof value === "string" && /^(true|1)$/i.test(value);
}
