import type { ModelSummary } from "../../threads/engineServices.js";
import { answer } from "../wording/callResult.js";
import { defineTool } from "./tool.js";

/** The models that a call may name. */
export const modelsTool = defineTool({
  name: "codex-models",
  title: "Codex Models",
  description: "Lists the models that can be named.",
  input: {},
  annotations: { readOnlyHint: true },
  sets: ["extras"],
  order: 21,
  servedInside: true,
  answers: "the models a call may name, the default first",
  example: {},
  async call(_, { agent, ask }) {
    const models = await agent.server.models(ask);
    return answer(models.map(lineOf).join("\n") || "No models are offered.", { models });
  },
});

function lineOf({ model, displayName, isDefault, reasoningEfforts, notOffered, shutdownDate }: ModelSummary): string {
  const remarks = [
    displayName === model ? [] : [displayName],
    isDefault ? ["default"] : [],
    reasoningEfforts.join("/") || [],
    notOffered ? ["not offered by its provider"] : [],
    shutdownDate === undefined ? [] : [`shut down on ${shutdownDate}`],
  ].flat();
  return remarks.length === 0 ? model : `${model} (${remarks.join(", ")})`;
}
