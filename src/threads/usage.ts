export interface TokenUsage {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_output_tokens: number;
  readonly total_tokens: number;
}

export const NO_USAGE: TokenUsage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_output_tokens: 0,
  total_tokens: 0,
};

export function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    reasoning_output_tokens: a.reasoning_output_tokens + b.reasoning_output_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
  };
}

export interface TokenUsageInfo {
  readonly total_token_usage: TokenUsage;
  readonly last_token_usage: TokenUsage;
  readonly model_context_window: number | null;
}

export interface RateLimitWindow {
  readonly used_percent: number;
  readonly window_minutes: number | null;
  readonly resets_at: number | null;
}

export interface RateLimits {
  readonly primary: RateLimitWindow | null;
  readonly secondary: RateLimitWindow | null;
  readonly credits: { readonly has_credits: boolean; readonly unlimited: boolean; readonly balance: string | null } | null;
  readonly plan_type: string | null;
}

export const NO_RATE_LIMITS: RateLimits = { primary: null, secondary: null, credits: null, plan_type: null };
