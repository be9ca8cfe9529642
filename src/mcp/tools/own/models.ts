import type { ModelOffer } from "../../../threads/offers.js";
import type { Agent } from "../agent.js";
import type { ToolAction } from "../tool.js";
import { answer, offersOf, PROMPTLY, refusing } from "./answers.js";
import { within } from "./within.js";

/** `codex-models`: what may be named as `model`. */
export function modelsTool(agent: Agent): ToolAction {
  return refusing(async (_, call) => {
    const models = await within(PROMPTLY, call, (signal) => offersOf(agent).models(signal));
    return answer(models.map(lineOf).join("\n") || "No models are offered.", { models });
  });
}

function lineOf({ model, displayName, isDefault, reasoningEfforts }: ModelOffer): string {
  const remarks = [displayName === model ? [] : [displayName], isDefault ? ["default"] : [], reasoningEfforts.join("/") || []].flat();
  return remarks.length === 0 ? model : `${model} (${remarks.join(", ")})`;
}
