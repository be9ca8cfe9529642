import { bytesOf, type TruncationPolicy } from "../../../exec/output.js";
import { EffortNotOffered } from "../../../threads/errors.js";
import type { ReasoningEffort, ThreadSettings, Verbosity } from "../../../threads/settings.js";

/** The traits of a model on which a request depends. */
export interface ModelTraits {
  readonly contextWindow: number | undefined;
  readonly reasoning: boolean;
  /** The efforts it offers, weakest first; undefined where only the provider knows. */
  readonly efforts: readonly ReasoningEffort[] | undefined;
  readonly defaultEffort: ReasoningEffort | undefined;
  /** What Codex sends for `ultra`, which the API does not know. */
  readonly ultraIsSentAs?: ReasoningEffort;
  /** Whether the verbosity of responses can be set, and the default. */
  readonly verbosity: boolean;
  readonly defaultVerbosity: Verbosity | undefined;
  readonly parallelToolCalls: boolean;
  /** `sessions`: exec_command and write_stdin. */
  readonly shellTool: "shell" | "shell_command" | "local_shell" | "sessions";
  /** How patches are sent: as freeform text under a grammar, as a function call, or only through the shell. */
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
 * The newest family. Codex runs these models' commands in its code mode; the loop here offers functions. The catalogue no longer states
 * parallel calls, because code mode has a single tool; the last models with functions all support them.
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

/** For an unknown name: the newest family's abilities. Effort and verbosity are left to the model. */
const UNKNOWN: ModelTraits = {
  ...NEWEST,
  efforts: undefined,
  defaultEffort: undefined,
  defaultVerbosity: undefined,
  shellTool: "shell",
  // Providers other than OpenAI support functions, but few support freeform text under a grammar.
  patchTool: "function",
};
/** An unknown name of OpenAI's is newer than the table. */
const NEWER: ModelTraits = { ...UNKNOWN, shellTool: "shell_command", patchTool: "freeform" };

/** What Codex 0.92.0 assumed for an unknown name. */
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
  /** The origin of the row. */
  readonly source: string;
}

const CODEX_166 = "`codex debug models` of Codex 0.166.0; what `ultra` becomes was seen in its requests";
const CODEX_92 = "the requests of Codex 0.92.0; efforts from OpenAI's API reference";

/** All traits of all models. The first match wins. */
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

const UNLISTED_CODEX: ModelTraits = { ...CODEX, efforts: undefined, defaultEffort: undefined };

/** Where Codex 0.92.0 differs from the table; used only when its behaviour must be reproduced. */
const RECORDED_CATALOGUE: readonly CatalogueRow[] = [
  {
    name: /^codex-mini-latest/,
    traits: { ...RECORDED_UNKNOWN, contextWindow: 200_000, reasoning: true, shellTool: "local_shell" },
    source: CODEX_92,
  },
  { name: /^o[34](?!\d)/, traits: { ...RECORDED_UNKNOWN, contextWindow: 200_000, reasoning: true }, source: CODEX_92 },
  { name: /^gpt-oss/, traits: { ...RECORDED_UNKNOWN, contextWindow: 96_000, patchTool: "function" }, source: CODEX_92 },
  // Dated names, and others that were not in the list of 0.92.0. It left the efforts of such models to the model.
  { name: /^gpt-5\.2-codex./, traits: { ...UNLISTED_CODEX, parallelToolCalls: true }, source: CODEX_92 },
  { name: /^gpt-5(-codex(?!(-mini)?$)|\.1-codex(?!(-mini|-max)?$))/, traits: UNLISTED_CODEX, source: CODEX_92 },
  { name: /^(exp-codex|codex-1p|bengalfox)/, traits: { ...UNLISTED_CODEX, parallelToolCalls: true }, source: CODEX_92 },
  { name: /^test-gpt-5/, traits: { ...UNLISTED_CODEX, parallelToolCalls: true, patchTool: "none", verbosity: true }, source: CODEX_92 },
  { name: /^exp-/, traits: { ...GPT_5_1, efforts: undefined, shellTool: "sessions" }, source: CODEX_92 },
  { name: /^codex-/, traits: UNLISTED_CODEX, source: CODEX_92 },
  { name: /^boomslang/, traits: GPT_5_2, source: CODEX_92 },
  { name: /^gpt-5-(?!codex)/, traits: { ...GPT_5, efforts: undefined, defaultEffort: undefined }, source: CODEX_92 },
  { name: /^(gpt-4(?!\.1|o)|o1)/, traits: RECORDED_UNKNOWN, source: CODEX_92 },
];

/** The models that Codex 0.166.0 shows to users, in its order: the docs list their efforts. */
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

/** Names that many configurations still contain. A provider that lists one still has it. */
const RETIRED: readonly RetiredModels[] = [
  { name: /^gpt-5\.2-codex$/, words: "was shut down on 2026-07-23", source: "public guides; absent from the catalogue of Codex 0.166.0" },
  {
    name: /^(gpt-5(\.\d)?-codex(-max|-mini)?|codex-mini(-latest)?)$/,
    words: "is no longer among Codex's models",
    source: "absent from the catalogue of Codex 0.166.0, which has no name with -codex",
  },
];

/** What happened to a discontinued model; undefined for any other. */
export function retirementOf(model: string): string | undefined {
  return RETIRED.find(({ name }) => name.test(bareName(model)))?.words;
}

/** The model, and how unknown names are treated. */
type AskedModel = Pick<ThreadSettings, "model" | "asRecorded">;

/** Remembered, because each turn asks several times, always with the settings of its thread. */
const traitsBySettings = new WeakMap<AskedModel, ModelTraits>();

export function traitsOf(asked: AskedModel): ModelTraits {
  const known = traitsBySettings.get(asked);
  if (known) return known;
  const traits = lookUp(asked);
  traitsBySettings.set(asked, traits);
  return traits;
}

function lookUp({ model, asRecorded = false }: AskedModel): ModelTraits {
  const catalogue = asRecorded ? [...RECORDED_CATALOGUE, ...CATALOGUE] : CATALOGUE;
  const known = catalogue.find(({ name }) => name.test(bareName(model)))?.traits;
  return known ?? (asRecorded ? RECORDED_UNKNOWN : UNKNOWN);
}

/** Without the vendor prefix: `openai/gpt-oss-120b`. */
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

/** Tokens of the window that a conversation may use; the rest is reserved for the response. */
export function usableWindow(settings: ThreadSettings): number | null {
  const window = settings.contextWindow ?? traitsOf(settings).contextWindow;
  return window === undefined ? null : Math.floor(window * 0.95);
}

/** The size at which a conversation is summarised. */
export function compactionLimit(settings: ThreadSettings): number {
  if (settings.autoCompactTokenLimit !== undefined) return settings.autoCompactTokenLimit;
  const window = settings.contextWindow ?? traitsOf(settings).contextWindow;
  return window === undefined ? Number.POSITIVE_INFINITY : Math.floor(window * 0.9);
}

/** The efforts of all families, weakest first. */
const WEAKEST_FIRST: readonly ReasoningEffort[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/** Whether some model has this effort. Any other word may be misspelt, and cannot be compared with the efforts of another model. */
export function isEffortOfSomeModel(effort: ReasoningEffort): boolean {
  return WEAKEST_FIRST.includes(effort);
}

/** The efforts that one provider states for one model; absent when it states none. */
export type OfferedEfforts = readonly ReasoningEffort[] | undefined;

/** The efforts a model accepts; undefined where only the provider knows, empty for a model without reasoning. */
export function offeredEfforts(settings: ThreadSettings, listed?: OfferedEfforts): OfferedEfforts {
  return listed ?? traitsOf(settings).efforts;
}

/** Throws `EffortNotOffered`. A model without reasoning gets no effort, whatever the configuration says. */
export function checkEffort(settings: ThreadSettings, listed?: OfferedEfforts): void {
  const { model, reasoningEffort: effort } = settings;
  const offered = offeredEfforts(settings, listed);
  if (effort === undefined || !offered || offered.length === 0 || offered.includes(effort)) return;
  throw new EffortNotOffered(effort, { model, offered });
}

/** The settings with an effort that their model offers: the strongest that does not exceed the configured one. */
export function withOfferedEffort(settings: ThreadSettings, listed?: OfferedEfforts): ThreadSettings {
  const { reasoningEffort: effort } = settings;
  const offered = offeredEfforts(settings, listed);
  if (effort === undefined || !offered || offered.length === 0 || offered.includes(effort)) return settings;
  const most = WEAKEST_FIRST.indexOf(effort);
  const reasoningEffort = offered.findLast((word) => WEAKEST_FIRST.indexOf(word) <= most) ?? offered[0];
  return { ...settings, ...(reasoningEffort !== undefined && { reasoningEffort }) };
}

/** The effort in the API's terms; undefined for the model's default. */
export function effortOnTheWire(settings: ThreadSettings): ReasoningEffort | undefined {
  const { defaultEffort, ultraIsSentAs } = traitsOf(settings);
  const effort = settings.reasoningEffort ?? defaultEffort;
  return effort === "ultra" ? (ultraIsSentAs ?? effort) : effort;
}
