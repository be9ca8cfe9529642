import type { ModelSummary } from "../../../threads/engineServices.js";
import type { Agent } from "../agent.js";
import type { ToolAction } from "../tool.js";
import { answer, PROMPTLY, refusing, servicesOf } from "./answers.js";
import { within } from "./within.js";

/** `codex-models`: what may be named as `model`. */
export function modelsTool(agent: Agent): ToolAction {
  return refusing(async (_, call) => {
    const models = await within(PROMPTLY, call, async (signal) => (await servicesOf(agent)).models(signal));
    return answer(models.map(lineOf).join("\n") || "No models are offered.", { models });
  });
}

function lineOf({ model, displayName, isDefault, reasoningEfforts }: ModelSummary): string {
  const remarks = [displayName === model ? [] : [displayName], isDefault ? ["default"] : [], reasoningEfforts.join("/") || []].flat();
  return remarks.length === 0 ? model : `${model} (${remarks.join(", ")})`;
}
