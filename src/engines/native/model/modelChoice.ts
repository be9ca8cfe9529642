import { DEFAULT_MODEL, type ModelProvider, type ThreadSettings } from "../../../threads/settings.js";
import type { ModelFailure } from "./client.js";
import { generalModels, listedAs } from "./generalModels.js";
import { type ListedModel, type ListSources, type ModelListing, ModelLists } from "./modelLists.js";
import { retirementOf, withOfferedEffort } from "./modelTraits.js";

/** The settings of a request, and a notice for the caller. */
interface ChosenModel {
  readonly settings: ThreadSettings;
  readonly notice?: string;
}

interface Refusal {
  readonly failure: ModelFailure;
  readonly settings: ThreadSettings;
  /** The caller did not name the model. */
  readonly mayReplace: boolean;
}

/** Chooses the model where none was named, and the replacement for one that is not offered. */
export class ModelChoice implements AsyncDisposable {
  readonly lists: ModelLists;

  constructor(sources: ListSources) {
    this.lists = new ModelLists(sources);
  }

  /** For a thread that opens. Makes no request: a list that was read earlier may be better than the built-in table. */
  forOpening(settings: ThreadSettings): ChosenModel {
    const { modelIsOurs, provider } = settings;
    if (!modelIsOurs) return { settings };
    const listing = this.lists.known(provider);
    if (!listing && modelIsOurs === "latest") this.lists.prefetch(provider);
    const model = chosenFrom(listing, settings);
    return model ? replaced(settings, model) : { settings };
  }

  /** The efforts that a model list states for a model. Makes no request. */
  listedEfforts({ model, provider }: ThreadSettings): readonly string[] | undefined {
    const listing = this.lists.known(provider);
    return listing?.kind === "read" ? listedAs(model, listing.models)?.efforts : undefined;
  }

  /**
   * After the provider reported that it does not have the model: the settings for a retry. Throws the failure with advice where the caller
   * named a model that is not in the list, or the list cannot be read.
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
  // With `latest`, the caller requested the newest model, so there is nothing to report.
  if (settings.modelIsOurs === "latest") return { settings: other };
  const effort = other.reasoningEffort === settings.reasoningEffort ? "" : `, with the effort \`${other.reasoningEffort}\``;
  const notice = `Model \`${name}\` was used${effort}: provider \`${settings.provider.id}\` does not offer \`${settings.model}\`. Name a model to choose another.`;
  return { settings: other, notice };
}

const MOST_NAMED = 8;

/** Advice for a named model that is not in the provider's list. */
export function useAnother({ model, provider }: Pick<ThreadSettings, "model" | "provider">, models: readonly ListedModel[]): string {
  const general = generalModels(models);
  const same = listedAs(model, models);
  const [best] = same ? [same] : general;
  if (!best)
    return `Provider \`${provider.id}\` lists no model that could take the place of \`${model}\`. Name one that it has: \`model\` in the call or in config.toml.`;
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

/** Advice where no model was named and the provider's list is unknown. */
function nameOne(
  { model, provider }: { readonly model: string; readonly provider: ModelProvider },
  { why }: { readonly why: string },
): string {
  return `No model was named, so \`${model}\` was requested, which provider \`${provider.id}\` does not have; its list of models could not be read (${why}). Name one that it offers: \`model\` in the call or in config.toml.`;
}
