import { oneOf } from "../../../lib/fields.js";
import type { ModelOffer } from "../../../threads/offers.js";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../../threads/settings.js";
import { refusal } from "../refusals.js";
import type { RunningCodex } from "../supervisor.js";
import { fieldsOf, listOf, saidText } from "../translate/read.js";

const PAGE = 100;
/** Far beyond any catalogue: a Codex that goes on for ever is not followed. */
const MOST_PAGES = 20;

/** The models that Codex offers to whoever is logged in, the default one first. */
export async function listModels({ server }: RunningCodex, signal: AbortSignal): Promise<readonly ModelOffer[]> {
  const models: ModelOffer[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await server
      .request("model/list", { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }, { signal })
      .catch(refused);
    const { data, nextCursor } = fieldsOf(answer);
    models.push(...listOf(data).flatMap(modelOffer));
    cursor = saidText(nextCursor);
    if (cursor === undefined) break;
  }
  return models.sort((one, other) => Number(other.isDefault) - Number(one.isDefault));
}

function refused(error: unknown): never {
  throw refusal(error, "list its models");
}

function modelOffer(entry: unknown): ModelOffer[] {
  const { model, displayName, isDefault, supportedReasoningEfforts } = fieldsOf(entry);
  const name = saidText(model);
  if (name === undefined) return [];
  const reasoningEfforts = listOf(supportedReasoningEfforts).flatMap(effortThatWeHave);
  return [{ model: name, displayName: saidText(displayName) ?? name, isDefault: isDefault === true, reasoningEfforts }];
}

/** Codex has more of them for some models; what a call may ask for is in our list. */
function effortThatWeHave(entry: unknown): ReasoningEffort[] {
  const effort = oneOf(REASONING_EFFORTS, fieldsOf(entry)["reasoningEffort"]);
  return effort === undefined ? [] : [effort];
}
