import { DEFAULT_MODEL, type ModelProvider, type ThreadSettings } from "../../../threads/settings.js";
import type { ModelFailure } from "./client.js";
import { withOfferedEffort } from "./efforts.js";
import { generalModels, listedAs } from "./generalModels.js";
import { type ListedModel, type ListSources, type ModelListing, ModelLists } from "./modelLists.js";
import { retirementOf } from "./modelTraits.js";

/** What a request is made with, and what the caller should be told about it. */
interface ChosenModel {
  readonly settings: ThreadSettings;
  readonly notice?: string;
}

interface Refusal {
  readonly failure: ModelFailure;
  readonly settings: ThreadSettings;
  /** Nobody who is there named the model. */
  readonly mayReplace: boolean;
}

/** Which model is asked where nobody named one, and in the place of one that is not offered. */
export class ModelChoice implements AsyncDisposable {
  readonly lists: ModelLists;

  constructor(sources: ListSources) {
    this.lists = new ModelLists(sources);
  }

  /** For a thread that opens. Asks nobody: a list that was read earlier may say better than the table. */
  forOpening(settings: ThreadSettings): ChosenModel {
    const { modelIsOurs, provider } = settings;
    if (!modelIsOurs) return { settings };
    const listing = this.lists.known(provider);
    if (!listing && modelIsOurs === "latest") this.lists.prefetch(provider);
    const model = chosenFrom(listing, settings);
    return model ? replaced(settings, model) : { settings };
  }

  /** The efforts that a list says a model offers. Asks nobody. */
  listedEfforts({ model, provider }: ThreadSettings): readonly string[] | undefined {
    const listing = this.lists.known(provider);
    return listing?.kind === "read" ? listedAs(model, listing.models)?.efforts : undefined;
  }

  /**
   * After the provider has said that it does not have the model: what to ask it with once more. Throws the failure, with what to do
   * about it, where the list lacks a name that somebody gave, or cannot be read.
   */
  async afterRefusal({ failure, settings, mayReplace }: Refusal, signal: AbortSignal): Promise<ChosenModel> {
    const listing = await this.lists.read(settings.provider, signal);
    if (listing.kind === "unread") throw withoutList(failure, settings, { why: listing.why, mayReplace });
    if (listing.models.some(({ name }) => name === settings.model)) return { settings };
    const model = mayReplace ? chosenFrom(listing, settings) : undefined;
    if (model) return replaced(settings, model);
    throw listing.isWhole ? failure.withAdvice(useAnother(settings, listing.models)) : failure;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lists[Symbol.asyncDispose]();
  }
}

function chosenFrom(listing: ModelListing | undefined, { model, modelIsOurs }: ThreadSettings): ListedModel | undefined {
  if (listing?.kind !== "read") return undefined;
  const general = generalModels(listing.models);
  return modelIsOurs === "latest" ? general[0] : (listedAs(model, general) ?? general[0]);
}

function replaced(settings: ThreadSettings, { name, efforts }: ListedModel): ChosenModel {
  if (name === settings.model) return { settings };
  const other = withOfferedEffort({ ...settings, model: name }, efforts);
  // Under `latest` whatever is newest is what was asked for.
  if (settings.modelIsOurs === "latest") return { settings: other };
  const effort = other.reasoningEffort === settings.reasoningEffort ? "" : `, with the effort \`${other.reasoningEffort}\``;
  const notice = `Model \`${name}\` was used${effort}: provider \`${settings.provider.id}\` does not offer \`${settings.model}\`. Name a model to choose another.`;
  return { settings: other, notice };
}

const MOST_NAMED = 8;

/** Where somebody named a model that the provider's list lacks. */
export function useAnother({ model, provider }: Pick<ThreadSettings, "model" | "provider">, models: readonly ListedModel[]): string {
  const general = generalModels(models);
  const same = listedAs(model, models);
  const [best] = same ? [same] : general;
  if (!best) return `Provider \`${provider.id}\` lists no model that could take the place of \`${model}\`.`;
  const others = general.map(({ name }) => name).filter((name) => name !== best.name);
  const more =
    others.length === 0 ? "" : ` It also offers ${others.slice(0, MOST_NAMED).join(", ")}${others.length > MOST_NAMED ? ", …" : ""}.`;
  return `Provider \`${provider.id}\` does not offer the model \`${model}\`: use \`${best.name}\` instead (\`model\` in the call or in config.toml).${more}`;
}

function withoutList(
  failure: ModelFailure,
  settings: ThreadSettings,
  { why, mayReplace }: { readonly why: string; readonly mayReplace: boolean },
): ModelFailure {
  if (mayReplace) return failure.withAdvice(nameOne(settings, { why }));
  const retirement = retirementOf(settings.model);
  if (retirement === undefined) return failure;
  return failure.withAdvice(`Model \`${settings.model}\` ${retirement}: use \`${DEFAULT_MODEL}\` instead, or leave \`model\` out.`);
}

/** Where nobody named a model and nobody knows which there are. */
function nameOne(
  { model, provider }: { readonly model: string; readonly provider: ModelProvider },
  { why }: { readonly why: string },
): string {
  return `Nobody named a model, so \`${model}\` was asked for, which provider \`${provider.id}\` does not have; its list of models could not be read (${why}). Name one that it offers: \`model\` in the call or in config.toml.`;
}
