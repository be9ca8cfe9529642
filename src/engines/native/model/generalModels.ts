import type { ListedModel } from "./modelLists.js";
import { bareName } from "./modelTraits.js";

/** Listed models that are not meant for coding. */
const OTHER_WORK =
  /embed|whisper|tts|dall-?e|image|audio|realtime|transcri|translat|moderat|search|instruct|babbage|davinci|sora|guard|rerank|ocr|computer-use|deep-research|daybreak|auto-review/i;

/** How far a variant in OpenAI's model names is from the general model of its generation. */
const VARIANTS: readonly (readonly [RegExp, number])[] = [
  [/^(sol|codex)$/, 9],
  [/^$/, 8],
  [/^codex-max$/, 7],
  [/^(astra|terra)$/, 6],
  [/^luna$/, 5],
  [/-?(mini|nano)\b/, 1],
];
/** A small model ranks like one of the previous generation. */
const SMALL = /\b(mini|nano)\b/;
const SMALL_IS_OLDER_BY = 8;

/** Names with a date are snapshots of the model without one. */
const DATE = /-20\d\d-?\d\d-?\d\d$/;

/**
 * The rank of a model as a default: the generation first, then how general the model is. Unknown names rank equally, except those made for
 * code.
 */
function rankOf(name: string): number {
  const bare = bareName(name).toLowerCase();
  const [, major, minor = "0", variant = ""] = /^gpt-(\d+)(?:\.(\d+))?(?:-(.*))?$/.exec(bare.replace(DATE, "")) ?? [];
  const frozen = DATE.test(bare) ? 1 : 0;
  if (major === undefined) return reasonerRank(bare) - frozen;
  const generation = Number(major) * 10 + Number(minor) - (SMALL.test(variant) ? SMALL_IS_OLDER_BY : 0);
  const generality = VARIANTS.find(([pattern]) => pattern.test(variant))?.[1] ?? 2;
  return generation * 20 + generality * 2 - frozen;
}

function reasonerRank(bare: string): number {
  if (/^o[34]\b/.test(bare)) return 43 * 20 + (bare.includes("mini") ? 0 : 1);
  if (bare.startsWith("gpt-oss")) return 39 * 20;
  return /cod(e|er|ex|ing)\b/.test(bare) ? 2 : 0;
}

/** The available models for coding, the best default first. */
export function generalModels(models: readonly ListedModel[], now = new Date()): readonly ListedModel[] {
  return models
    .filter(({ name, shutdown }) => !OTHER_WORK.test(name) && !(shutdown && shutdown <= now))
    .map((model) => ({ model, rank: rankOf(model.name) }))
    .sort((a, b) => b.rank - a.rank || (b.model.created ?? 0) - (a.model.created ?? 0) || a.model.name.length - b.model.name.length)
    .map(({ model }) => model);
}

/** The same model, with or without a vendor prefix. */
export function listedAs(model: string, models: readonly ListedModel[]): ListedModel | undefined {
  return models.find(({ name }) => name === model) ?? models.find(({ name }) => bareName(name) === model);
}
