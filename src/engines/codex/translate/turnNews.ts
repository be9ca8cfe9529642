import type { PlanStep } from "../../../threads/items.js";
import { fieldsOf, listOf, saidText, textOf } from "./read.js";
import type { Translation } from "./turnState.js";
import { rateLimitsOf, tokenUsageInfo } from "./usage.js";

/** The final message stands in the turn's end too; how the turn ends is for the engine to say. */
export const turnCompleted: Translation = ({ turn: ended }, turn) => {
  const messages = listOf(fieldsOf(ended)["items"])
    .map(fieldsOf)
    .filter((item) => item["type"] === "agentMessage");
  turn.lastMessage = saidText(messages.at(-1)?.["text"]) ?? turn.lastMessage;
  return [];
};

export const diffUpdated: Translation = ({ diff }) => {
  const unifiedDiff = saidText(diff);
  return unifiedDiff === undefined ? [] : [{ type: "turnDiff", unifiedDiff }];
};

export const planUpdated: Translation = ({ explanation, plan }) => [
  { type: "planUpdated", explanation: saidText(explanation) ?? null, plan: listOf(plan).map(planStep) },
];

export const usageUpdated: Translation = ({ tokenUsage }, { memory }) => {
  const usage = tokenUsageInfo(fieldsOf(tokenUsage));
  memory.contextWindow = usage.model_context_window ?? memory.contextWindow;
  return [{ type: "tokenCount", usage, rateLimits: memory.rateLimits }];
};

/** Shown with the next count of tokens. */
export const rateLimitsUpdated: Translation = ({ rateLimits }, { memory }) => {
  memory.rateLimits = rateLimitsOf(fieldsOf(rateLimits));
  return [];
};

export const mcpStartupUpdated: Translation = (params, { memory, settings }) => [
  ...memory.mcp.update(params),
  ...memory.mcp.settle(settings.mcpServers.map(({ name }) => name)),
];

function planStep(entry: unknown): PlanStep {
  const { step, status } = fieldsOf(entry);
  return { step: textOf(step), status: status === "inProgress" ? "in_progress" : status === "completed" ? "completed" : "pending" };
}
