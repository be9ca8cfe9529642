import { timeoutSignal } from "../../../lib/promises.js";
import type { ModelSummary } from "../../../threads/engineServices.js";
import { EffortNotOffered } from "../../../threads/errors.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { codexRefusal } from "../appServer/errors.js";
import { asFields, asList, nonEmptyText } from "../appServer/read.js";
import type { RunningCodex } from "../appServer/supervisor.js";

const PAGE = 100;
/** Far more than any catalogue has; bounds a Codex that never ends its list. */
const MOST_PAGES = 20;

/** The models that Codex offers for the current login, the default first. */
export async function listModels({ server }: Pick<RunningCodex, "server">, signal: AbortSignal): Promise<readonly ModelSummary[]> {
  const models: ModelSummary[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await server
      .request("model/list", { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }, { signal })
      .catch(refused);
    const { data, nextCursor } = asFields(answer);
    models.push(...asList(data).flatMap(modelSummary));
    cursor = nonEmptyText(nextCursor);
    if (cursor === undefined) break;
  }
  return models.sort((one, other) => Number(other.isDefault) - Number(one.isDefault));
}

function refused(error: unknown): never {
  throw codexRefusal(error, "list its models");
}

function modelSummary(entry: unknown): ModelSummary[] {
  const { model, displayName, isDefault, supportedReasoningEfforts } = asFields(entry);
  const name = nonEmptyText(model);
  if (name === undefined) return [];
  const reasoningEfforts = asList(supportedReasoningEfforts).flatMap((effort) => nonEmptyText(asFields(effort)["reasoningEffort"]) ?? []);
  return [{ model: name, displayName: nonEmptyText(displayName) ?? name, isDefault: isDefault === true, reasoningEfforts }];
}

/** The wait for Codex's list, which Codex may have to request from OpenAI. Without the list, the turn reports a wrong model. */
const LIST_MS = 5_000;

/**
 * The settings of a new thread, with `latest` replaced by Codex's model for it. Throws `EffortNotOffered` where Codex knows the model and
 * it lacks the effort: Codex itself accepts any word, and the API would refuse it during the turn.
 */
export async function settledModel(codex: Pick<RunningCodex, "server">, settings: ThreadSettings): Promise<ThreadSettings> {
  const { modelIsOurs, modelIsReplaceable, reasoningEffort: effort, provider } = settings;
  // Codex lists only OpenAI's models and knows nothing about other providers.
  const mayReplace = modelIsReplaceable === true && provider.requiresOpenaiAuth && !settings.modelIsDefault;
  if (modelIsOurs !== "latest" && effort === undefined && !mayReplace) return settings;
  // If Codex does not list its models, it decides itself.
  const models = await listModels(codex, timeoutSignal(LIST_MS)).catch(() => []);
  const usual = models.find(({ isDefault }) => isDefault);
  const named = models.find(({ model }) => model === settings.model);
  const isReplaced = mayReplace && usual !== undefined && named === undefined;
  const used = modelIsOurs || isReplaced ? usual : named;
  if (effort !== undefined && used && used.reasoningEfforts.length > 0 && !used.reasoningEfforts.includes(effort))
    throw new EffortNotOffered(effort, { model: used.model, offered: used.reasoningEfforts });
  return (modelIsOurs === "latest" || isReplaced) && usual ? { ...settings, model: usual.model } : settings;
}
