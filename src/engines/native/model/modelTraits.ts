import { bytesOf, type TruncationPolicy } from "../../../exec/output.js";
import type { ReasoningEffort, ThreadSettings, Verbosity } from "../../../threads/settings.js";

/** What a model can do, as far as a request depends on it. */
export interface ModelTraits {
  readonly contextWindow: number | undefined;
  readonly reasoning: boolean;
  /** The efforts it offers, weakest first; undefined where only the provider knows. */
  readonly efforts: readonly ReasoningEffort[] | undefined;
  readonly defaultEffort: ReasoningEffort | undefined;
  /** What Codex sends for `ultra`, which is a word of Codex and not of the API. */
  readonly ultraIsSentAs?: ReasoningEffort;
  /** Whether answers can be asked to be short or long, and what is asked unless configured. */
  readonly verbosity: boolean;
  readonly defaultVerbosity: Verbosity | undefined;
  readonly parallelToolCalls: boolean;
  readonly shellTool: "shell" | "shell_command" | "local_shell";
  /** How patches come: as free text held to a grammar, as a function call, or only through the shell. */
  readonly patchTool: "freeform" | "function" | "none";
  readonly truncation: TruncationPolicy;
}

const BYTES: TruncationPolicy = { unit: "bytes", limit: 10_000 };
const TOKENS: TruncationPolicy = { unit: "tokens", limit: 10_000 };

const UP_TO_HIGH = ["low", "medium", "high"];
const UP_TO_XHIGH = [...UP_TO_HIGH, "xhigh"];
const UP_TO_MAX = [...UP_TO_XHIGH, "max"];
const UP_TO_ULTRA = [...UP_TO_MAX, "ultra"];

/**
 * The newest family. Codex runs commands of these models in its code mode; the loop here offers them functions. The catalogue says
 * nothing of parallel calls any more, since code mode has a single tool; the last models with functions all make them.
 */
const NEWEST: ModelTraits = {
  contextWindow: 272_000,
  reasoning: true,
  efforts: UP_TO_ULTRA,
  defaultEffort: "low",
  ultraIsSentAs: "max",
  verbosity: true,
  defaultVerbosity: "low",
  parallelToolCalls: true,
  shellTool: "shell_command",
  patchTool: "freeform",
  truncation: TOKENS,
};

/** A name that no row knows: it can what the newest can. How hard it thinks and how much it says by itself is left to it. */
const UNKNOWN: ModelTraits = {
  ...NEWEST,
  efforts: undefined,
  defaultEffort: undefined,
  defaultVerbosity: undefined,
  shellTool: "shell",
  // Providers that are not OpenAI's have functions, and few have free text under a grammar.
  patchTool: "function",
};
/** A name of OpenAI's that no row knows is newer than the table. */
const NEWER: ModelTraits = { ...UNKNOWN, shellTool: "shell_command", patchTool: "freeform" };

/** What Codex 0.92.0 took a name for that it did not know. */
const RECORDED_UNKNOWN: ModelTraits = {
  contextWindow: undefined,
  reasoning: false,
  efforts: undefined,
  defaultEffort: undefined,
  verbosity: false,
  defaultVerbosity: undefined,
  parallelToolCalls: false,
  shellTool: "shell",
  patchTool: "none",
  truncation: BYTES,
};
const GPT_5: ModelTraits = {
  ...RECORDED_UNKNOWN,
  contextWindow: 272_000,
  reasoning: true,
  efforts: ["minimal", ...UP_TO_HIGH],
  defaultEffort: "medium",
  verbosity: true,
};
const GPT_5_1: ModelTraits = {
  ...GPT_5,
  efforts: ["none", ...UP_TO_HIGH],
  defaultVerbosity: "low",
  shellTool: "shell_command",
  patchTool: "freeform",
  parallelToolCalls: true,
};
const GPT_5_2: ModelTraits = { ...GPT_5_1, efforts: ["none", ...UP_TO_XHIGH] };
const CODEX: ModelTraits = {
  ...GPT_5_1,
  efforts: UP_TO_HIGH,
  verbosity: false,
  defaultVerbosity: undefined,
  truncation: TOKENS,
  parallelToolCalls: false,
};

interface CatalogueRow {
  readonly name: RegExp;
  readonly traits: ModelTraits;
  /** Where the row comes from. */
  readonly source: string;
}

const CODEX_166 = "`codex debug models` of Codex 0.166.0; what `ultra` becomes was seen in its requests";
const CODEX_92 = "the requests of Codex 0.92.0; efforts from OpenAI's API reference";

/** Every trait of every model. The first match wins. */
export const CATALOGUE: readonly CatalogueRow[] = [
  { name: /^gpt-6\.1-terra\b/, traits: { ...NEWEST, contextWindow: 500_000, ultraIsSentAs: "xhigh" }, source: CODEX_166 },
  { name: /^gpt-6(\.1-sol|-astra)\b/, traits: { ...NEWEST, ultraIsSentAs: "xhigh" }, source: CODEX_166 },
  { name: /^gpt-6-sol\b/, traits: { ...NEWEST, defaultEffort: "medium" }, source: CODEX_166 },
  { name: /^gpt-6-luna\b/, traits: { ...NEWEST, efforts: UP_TO_MAX, defaultEffort: "medium" }, source: CODEX_166 },
  { name: /^gpt-5\.6-luna\b/, traits: { ...NEWEST, efforts: UP_TO_MAX, defaultEffort: "medium" }, source: CODEX_166 },
  { name: /^gpt-5\.6-terra\b/, traits: { ...NEWEST, defaultEffort: "medium" }, source: CODEX_166 },
  { name: /^gpt-5\.6(-sol)?\b/, traits: NEWEST, source: CODEX_166 },
  { name: /^gpt-5\.5\b/, traits: { ...NEWEST, efforts: UP_TO_XHIGH, defaultEffort: "medium" }, source: CODEX_166 },
  { name: /^gpt-5\.1-codex-max\b/, traits: { ...CODEX, efforts: UP_TO_XHIGH }, source: CODEX_92 },
  { name: /^gpt-5(\.1)?-codex/, traits: CODEX, source: CODEX_92 },
  { name: /^gpt-5\.[2-4]-codex/, traits: { ...CODEX, efforts: UP_TO_XHIGH, parallelToolCalls: true }, source: CODEX_92 },
  { name: /^gpt-5\.1(?!\d)/, traits: GPT_5_1, source: CODEX_92 },
  { name: /^gpt-5\.[2-4](?!\d)/, traits: GPT_5_2, source: CODEX_92 },
  { name: /^gpt-5(?![.\d])/, traits: GPT_5, source: CODEX_92 },
  {
    name: /^(o[134](?!\d)|codex-mini)/,
    traits: { ...RECORDED_UNKNOWN, contextWindow: 200_000, reasoning: true, efforts: UP_TO_HIGH, defaultEffort: "medium" },
    source: CODEX_92,
  },
  { name: /^gpt-4\.1/, traits: { ...RECORDED_UNKNOWN, contextWindow: 1_047_576, efforts: [] }, source: CODEX_92 },
  { name: /^gpt-3\.5/, traits: { ...RECORDED_UNKNOWN, contextWindow: 16_385, efforts: [] }, source: CODEX_92 },
  { name: /^gpt-[34]/, traits: { ...RECORDED_UNKNOWN, contextWindow: 128_000, efforts: [] }, source: CODEX_92 },
  {
    name: /^gpt-oss/,
    traits: { ...RECORDED_UNKNOWN, contextWindow: 96_000, reasoning: true, efforts: UP_TO_HIGH, patchTool: "function" },
    source: CODEX_92,
  },
  { name: /^gpt-\d/, traits: NEWER, source: "newer than this table: what the newest family can" },
];

/** Where Codex 0.92.0 took a model for something else than the table does; counts only where everything is to be as it was there. */
const RECORDED_CATALOGUE: readonly CatalogueRow[] = [
  {
    name: /^codex-mini-latest/,
    traits: { ...RECORDED_UNKNOWN, contextWindow: 200_000, reasoning: true, shellTool: "local_shell" },
    source: CODEX_92,
  },
  { name: /^o[34](?!\d)/, traits: { ...RECORDED_UNKNOWN, contextWindow: 200_000, reasoning: true }, source: CODEX_92 },
  { name: /^gpt-oss/, traits: { ...RECORDED_UNKNOWN, contextWindow: 96_000, patchTool: "function" }, source: CODEX_92 },
  { name: /^exp-codex/, traits: { ...CODEX, efforts: undefined, defaultEffort: undefined, parallelToolCalls: true }, source: CODEX_92 },
];

/** The models that Codex 0.166.0 shows to people, in its order: the docs tell their efforts. */
export const LISTED_MODELS = [
  "gpt-6.1-sol",
  "gpt-6-astra",
  "gpt-6-sol",
  "gpt-6-luna",
  "gpt-5.6-sol",
  "gpt-6.1-terra",
  "gpt-5.6-terra",
  "gpt-5.6-luna",
  "gpt-5.5",
] as const;

interface RetiredModels {
  readonly name: RegExp;
  readonly words: string;
  readonly source: string;
}

/** Names that many configurations still have. A provider that lists one has it all the same. */
const RETIRED: readonly RetiredModels[] = [
  { name: /^gpt-5\.2-codex$/, words: "was shut down on 2026-07-23", source: "public guides; absent from the catalogue of Codex 0.166.0" },
  {
    name: /^(gpt-5(\.\d)?-codex(-max|-mini)?|codex-mini(-latest)?)$/,
    words: "is no longer among Codex's models",
    source: "absent from the catalogue of Codex 0.166.0, which has no name with -codex",
  },
];

/** What became of a model that is gone; undefined for any other. */
export function retirementOf(model: string): string | undefined {
  return RETIRED.find(({ name }) => name.test(bareName(model)))?.words;
}

/** What is asked about: the model, and how names that nobody knows are taken. */
type AskedModel = Pick<ThreadSettings, "model" | "asRecorded">;

export function traitsOf({ model, asRecorded = false }: AskedModel): ModelTraits {
  const catalogue = asRecorded ? [...RECORDED_CATALOGUE, ...CATALOGUE] : CATALOGUE;
  const known = catalogue.find(({ name }) => name.test(bareName(model)))?.traits;
  return known ?? (asRecorded ? RECORDED_UNKNOWN : UNKNOWN);
}

/** Without whose it is: `openai/gpt-oss-120b`. */
export function bareName(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1);
}

/** How much of a tool's output the model gets. */
export function truncationOf(settings: ThreadSettings): TruncationPolicy {
  const { toolOutputTokenLimit } = settings;
  const { truncation } = traitsOf(settings);
  if (toolOutputTokenLimit === undefined) return truncation;
  const asked: TruncationPolicy = { unit: "tokens", limit: toolOutputTokenLimit };
  return truncation.unit === "tokens" ? asked : { unit: "bytes", limit: bytesOf(asked) };
}

/** Tokens of the window that a conversation may use; the rest is kept for the answer. */
export function usableWindow(settings: ThreadSettings): number | null {
  const window = settings.contextWindow ?? traitsOf(settings).contextWindow;
  return window === undefined ? null : Math.floor(window * 0.95);
}

/** The size of a conversation at which it is summarised. */
export function compactionLimit(settings: ThreadSettings): number {
  if (settings.autoCompactTokenLimit !== undefined) return settings.autoCompactTokenLimit;
  const window = settings.contextWindow ?? traitsOf(settings).contextWindow;
  return window === undefined ? Number.POSITIVE_INFINITY : Math.floor(window * 0.9);
}
