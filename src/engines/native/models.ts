import type { ReasoningEffort, ThreadSettings } from "../../threads/model.js";

/** What a model can do, as far as a request depends on it. */
export interface ModelTraits {
  readonly contextWindow: number | undefined;
  readonly reasoning: boolean;
  readonly defaultEffort: ReasoningEffort | undefined;
  readonly verbosity: boolean;
  readonly parallelToolCalls: boolean;
}

const UNKNOWN: ModelTraits = {
  contextWindow: undefined,
  reasoning: false,
  defaultEffort: undefined,
  verbosity: false,
  parallelToolCalls: false,
};
const GPT_5: ModelTraits = { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: true, parallelToolCalls: false };

/** First match wins. */
const CATALOGUE: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^gpt-5\.(1-codex|1-codex-.*)$/, { ...GPT_5, verbosity: false }],
  [/^gpt-5\.\d+-codex/, { ...GPT_5, verbosity: false, parallelToolCalls: true }],
  [/^gpt-5\.\d+/, { ...GPT_5, parallelToolCalls: true }],
  [/^gpt-5(-codex.*)/, { ...GPT_5, verbosity: false }],
  [/^gpt-5/, GPT_5],
  [/^(o3|o4-mini|codex-mini)/, { ...UNKNOWN, contextWindow: 200_000, reasoning: true, defaultEffort: "medium" }],
  [/^gpt-4\.1/, { ...UNKNOWN, contextWindow: 1_047_576 }],
  [/^gpt-oss/, { ...UNKNOWN, contextWindow: 96_000, reasoning: true }],
];

export function traitsOf(model: string): ModelTraits {
  const name = model.includes("/") ? model.slice(model.lastIndexOf("/") + 1) : model;
  return CATALOGUE.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}

/** Tokens of the window that a conversation may use; the rest is kept for the answer. */
export function usableWindow(settings: ThreadSettings): number | null {
  const window = settings.contextWindow ?? traitsOf(settings.model).contextWindow;
  return window === undefined ? null : Math.floor(window * 0.95);
}

/** The size of a conversation at which it is summarised. */
export function compactionLimit(settings: ThreadSettings): number {
  if (settings.autoCompactTokenLimit !== undefined) return settings.autoCompactTokenLimit;
  const window = settings.contextWindow ?? traitsOf(settings.model).contextWindow;
  return window === undefined ? Number.POSITIVE_INFINITY : Math.floor(window * 0.9);
}
