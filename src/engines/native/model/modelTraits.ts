import type { TruncationPolicy } from "../../../exec/output.js";
import type { ReasoningEffort, ThreadSettings, Verbosity } from "../../../threads/settings.js";

/** What a model can do, as far as a request depends on it. */
interface ModelTraits {
  readonly contextWindow: number | undefined;
  readonly reasoning: boolean;
  readonly defaultEffort: ReasoningEffort | undefined;
  /** Whether answers can be asked to be short or long, and what is asked unless configured. */
  readonly verbosity: boolean;
  readonly defaultVerbosity: Verbosity | undefined;
  readonly parallelToolCalls: boolean;
  readonly shellTool: "shell" | "shell_command";
  /** How patches come: as free text held to a grammar, as a function call, or only through the shell. */
  readonly patchTool: "freeform" | "function" | "none";
  readonly truncation: TruncationPolicy;
}

const BYTES: TruncationPolicy = { unit: "bytes", limit: 10_000 };
const TOKENS: TruncationPolicy = { unit: "tokens", limit: 10_000 };

const UNKNOWN: ModelTraits = {
  contextWindow: undefined,
  reasoning: false,
  defaultEffort: undefined,
  verbosity: false,
  defaultVerbosity: undefined,
  parallelToolCalls: false,
  shellTool: "shell",
  patchTool: "none",
  truncation: BYTES,
};
const GPT_5: ModelTraits = { ...UNKNOWN, contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: true };
const GPT_5_1: ModelTraits = {
  ...GPT_5,
  defaultVerbosity: "low",
  shellTool: "shell_command",
  patchTool: "freeform",
  parallelToolCalls: true,
};
const CODEX: ModelTraits = { ...GPT_5_1, verbosity: false, defaultVerbosity: undefined, truncation: TOKENS, parallelToolCalls: false };

/** First match wins. */
const CATALOGUE: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^gpt-5(\.1)?-codex/, CODEX],
  [/^gpt-5\.\d+-codex/, { ...CODEX, parallelToolCalls: true }],
  [/^gpt-5\.\d+/, GPT_5_1],
  [/^gpt-5/, GPT_5],
  [/^(o3|o4-mini|codex-mini)/, { ...UNKNOWN, contextWindow: 200_000, reasoning: true, defaultEffort: "medium" }],
  [/^gpt-4\.1/, { ...UNKNOWN, contextWindow: 1_047_576 }],
  [/^gpt-oss/, { ...UNKNOWN, contextWindow: 96_000, reasoning: true, patchTool: "function" }],
];

export function traitsOf(model: string): ModelTraits {
  const name = model.includes("/") ? model.slice(model.lastIndexOf("/") + 1) : model;
  return CATALOGUE.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}

/** How much of a tool's output the model gets. */
export function truncationOf({ toolOutputTokenLimit, model }: ThreadSettings): TruncationPolicy {
  return toolOutputTokenLimit === undefined ? traitsOf(model).truncation : { unit: "tokens", limit: toolOutputTokenLimit };
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
