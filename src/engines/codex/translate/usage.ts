import type { Fields } from "../../../lib/fields.js";
import type { RateLimits, RateLimitWindow, TokenUsage, TokenUsageInfo } from "../../../threads/usage.js";
import { asFields, asNumber, saidText } from "../appServer/read.js";

export function tokenUsageInfo(usage: Fields): TokenUsageInfo {
  return {
    total_token_usage: tokenUsage(asFields(usage["total"])),
    last_token_usage: tokenUsage(asFields(usage["last"])),
    model_context_window: asNumber(usage["modelContextWindow"]),
  };
}

export function rateLimitsOf(limits: Fields): RateLimits {
  return {
    primary: windowOf(limits["primary"]),
    secondary: windowOf(limits["secondary"]),
    credits: creditsOf(limits["credits"]),
    plan_type: saidText(limits["planType"]) ?? null,
  };
}

function tokenUsage(counts: Fields): TokenUsage {
  const count = (key: string) => asNumber(counts[key]) ?? 0;
  return {
    input_tokens: count("inputTokens"),
    cached_input_tokens: count("cachedInputTokens"),
    output_tokens: count("outputTokens"),
    reasoning_output_tokens: count("reasoningOutputTokens"),
    total_tokens: count("totalTokens"),
  };
}

function windowOf(value: unknown): RateLimitWindow | null {
  const { usedPercent, windowDurationMins, resetsAt } = asFields(value);
  const used = asNumber(usedPercent);
  return used === null ? null : { used_percent: used, window_minutes: asNumber(windowDurationMins), resets_at: asNumber(resetsAt) };
}

function creditsOf(value: unknown): RateLimits["credits"] {
  const { hasCredits, unlimited, balance } = asFields(value);
  if (typeof hasCredits !== "boolean") return null;
  return { has_credits: hasCredits, unlimited: unlimited === true, balance: saidText(balance) ?? null };
}
