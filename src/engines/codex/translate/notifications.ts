import { type Fields, isFields } from "../../../lib/fields.js";
import type { PlanStep } from "../../../threads/items.js";
import { addUsage, type RateLimits, type RateLimitWindow, type TokenUsage, type TokenUsageInfo } from "../../../threads/usage.js";
import { asFields, asList, asNumber, asText, nonEmptyText } from "../appServer/read.js";
import { forgetCutAnswer, itemCompleted, itemStarted } from "./items.js";
import {
  authRecovery,
  autoReviewCompleted,
  autoReviewStarted,
  configWarning,
  deprecation,
  errorNotice,
  hookCompleted,
  modelRerouted,
  modelVerification,
  oauthCompleted,
  safetyBuffering,
  strictReviewRequired,
  toolProgress,
  warning,
  worldWritable,
} from "./notices.js";
import { rawItemCompleted } from "./rawItems.js";
import { keepOutput, keepPart, type Translation } from "./turnState.js";

/** The final message is also in the turn's end; the engine decides how the turn ends. */
const turnCompleted: Translation = ({ turn: ended }, turn) => {
  const messages = asList(asFields(ended)["items"])
    .map(asFields)
    .filter((item) => item["type"] === "agentMessage");
  turn.lastMessage = nonEmptyText(messages.at(-1)?.["text"]) ?? turn.lastMessage;
  return [];
};

const diffUpdated: Translation = ({ diff }) => {
  const unifiedDiff = nonEmptyText(diff);
  return unifiedDiff === undefined ? [] : [{ type: "turnDiff", unifiedDiff }];
};

const planUpdated: Translation = ({ explanation, plan }) => [
  { type: "planUpdated", explanation: nonEmptyText(explanation) ?? null, plan: asList(plan).map(planStep) },
];

const usageUpdated: Translation = ({ tokenUsage }, { memory }) => {
  const usage = tokenUsageInfo(asFields(tokenUsage));
  memory.contextWindow = usage.model_context_window ?? memory.contextWindow;
  memory.used = usage.total_token_usage;
  return [{ type: "tokenCount", usage, rateLimits: memory.rateLimits }];
};

/** Codex reports the usage of a thread, but not that of a reviewer. So the usage of the reviewer's responses is added up. */
const responseCompleted: Translation = ({ usage: reported }, { memory, review }) => {
  if (!review || !isFields(reported)) return [];
  const last = tokenCounts(reported);
  memory.used = addUsage(memory.used, last);
  const usage = { total_token_usage: memory.used, last_token_usage: last, model_context_window: memory.contextWindow };
  return [{ type: "tokenCount", usage, rateLimits: memory.rateLimits }];
};

/** Shown with the next token count. */
const rateLimitsUpdated: Translation = ({ rateLimits }, { memory }) => {
  memory.rateLimits = rateLimitsOf(asFields(rateLimits));
  return [];
};

const mcpStartupUpdated: Translation = (params, { memory, settings }) => [
  ...memory.mcp.update(params),
  ...memory.mcp.settle(settings.mcpServers.map(({ name }) => name)),
];

// Deltas of an item that is not open are dropped, because readers have not seen the item.

const messageDelta: Translation = ({ itemId, delta }, { items }) => {
  const open = items.find(itemId);
  const text = nonEmptyText(delta);
  if (!open?.isShown || text === undefined) return [];
  open.text += text;
  return [{ type: "messageDelta", itemId: open.id, delta: text }];
};

const summaryPartAdded: Translation = ({ itemId, summaryIndex }, { items }) => {
  const open = items.find(itemId);
  return open ? [{ type: "reasoningSectionBreak", itemId: open.id, summaryIndex: asNumber(summaryIndex) ?? 0 }] : [];
};

const summaryDelta: Translation = ({ itemId, delta, summaryIndex }, { items }) => {
  const open = items.find(itemId);
  const text = nonEmptyText(delta);
  if (!open || text === undefined) return [];
  const index = asNumber(summaryIndex) ?? 0;
  keepPart(open.summary, index, text);
  return [{ type: "reasoningDelta", itemId: open.id, summaryIndex: index, delta: text }];
};

const rawReasoningDelta: Translation = ({ itemId, delta, contentIndex }, { items }) => {
  const open = items.find(itemId);
  const text = nonEmptyText(delta);
  if (!open || text === undefined) return [];
  const index = asNumber(contentIndex) ?? 0;
  keepPart(open.content, index, text);
  return [{ type: "rawReasoningDelta", itemId: open.id, contentIndex: index, delta: text }];
};

const commandOutput: Translation = ({ itemId, delta }, { items }) => {
  const open = items.find(itemId);
  const text = nonEmptyText(delta);
  if (!open || text === undefined) return [];
  keepOutput(open, text);
  return [{ type: "commandOutput", callId: open.id, stream: "stdout", bytes: Buffer.from(text) }];
};

/** What is typed into a command is in the model's raw calls. The command may be one of an earlier turn. */
const commandResumed: Translation = ({ itemId }) => {
  const callId = nonEmptyText(itemId);
  return callId === undefined ? [] : [{ type: "commandResumed", callId }];
};

/** A change grows while it is being written. */
const patchUpdated: Translation = ({ itemId, changes }, { items }) => {
  const open = items.find(itemId);
  if (open && Array.isArray(changes)) open.item = { ...open.item, changes };
  return [];
};

const failed: Translation = (params, turn) => {
  if (params["willRetry"] === true) forgetCutAnswer(turn);
  return errorNotice(params, turn);
};

interface Ignored {
  readonly ignored: string;
}

const STORE = { ignored: "about the app-server's list of threads, not about what the agent does" };
const OTHER_CALL = { ignored: "belongs to a call that the engine does not make" };
const ACCOUNT = { ignored: "about the login, which no turn waits for" };
const APP = { ignored: "about the app-server's own user interface" };
const VOICE = { ignored: "voice is not offered" };

/** Every notification of app-server 0.169.0: its translation, or the reason why it is not shown. */
export const NOTIFICATIONS: ReadonlyMap<string, Translation | Ignored> = new Map<string, Translation | Ignored>([
  ["turn/started", () => []],
  ["turn/completed", turnCompleted],
  ["turn/diff/updated", diffUpdated],
  ["turn/plan/updated", planUpdated],
  ["turn/moderationMetadata", APP],

  ["item/started", itemStarted],
  ["item/completed", itemCompleted],
  ["item/agentMessage/delta", messageDelta],
  ["item/reasoning/summaryPartAdded", summaryPartAdded],
  ["item/reasoning/summaryTextDelta", summaryDelta],
  ["item/reasoning/textDelta", rawReasoningDelta],
  ["item/commandExecution/outputDelta", commandOutput],
  ["item/commandExecution/terminalInteraction", commandResumed],
  ["item/fileChange/patchUpdated", patchUpdated],
  ["item/fileChange/outputDelta", { ignored: "no longer sent; the output is rebuilt when the change completes" }],
  ["item/plan/delta", { ignored: "the mode that proposes plans is never asked for" }],
  ["item/mcpToolCall/progress", toolProgress],
  ["item/autoApprovalReview/started", autoReviewStarted],
  ["item/autoApprovalReview/completed", autoReviewCompleted],
  ["autoApprovalReview/strictReviewRequired", strictReviewRequired],
  ["rawResponseItem/completed", rawItemCompleted],
  ["rawResponse/completed", responseCompleted],
  ["serverRequest/resolved", { ignored: "withdraws a question, which the engine does itself" }],

  ["error", failed],
  ["warning", warning],
  ["guardianWarning", warning],
  ["configWarning", configWarning],
  ["deprecationNotice", deprecation],
  ["windows/worldWritableWarning", worldWritable],
  ["hook/started", { ignored: "its end is shown" }],
  ["hook/completed", hookCompleted],
  ["model/rerouted", modelRerouted],
  ["model/verification", modelVerification],
  ["model/safetyBuffering/updated", safetyBuffering],
  ["modelProvider/authRecoveryStarted", authRecovery],
  ["modelProvider/authRecoveryCompleted", authRecovery],
  ["mcpServer/startupStatus/updated", mcpStartupUpdated],
  ["mcpServer/oauthLogin/completed", oauthCompleted],
  ["mcpServer/event/stream/notification", OTHER_CALL],

  ["thread/tokenUsage/updated", usageUpdated],
  ["account/rateLimits/updated", rateLimitsUpdated],
  ["thread/compacted", { ignored: "an item reports the same" }],
  ["thread/status/changed", { ignored: "the turn's own notifications say more" }],
  ["thread/started", STORE],
  ["thread/archived", STORE],
  ["thread/unarchived", STORE],
  ["thread/deleted", STORE],
  ["thread/closed", STORE],
  ["thread/reverted", STORE],
  ["thread/name/updated", STORE],
  ["thread/readState/changed", STORE],
  ["thread/project/updated", STORE],
  ["thread/section/changed", APP],
  ["project/changed", STORE],
  ["thread/settings/updated", { ignored: "the settings are ours, and sent with every turn" }],
  ["thread/queue/changed", { ignored: "turns are queued here, not there" }],
  ["thread/attachment/updated", APP],
  ["thread/goal/updated", APP],
  ["thread/goal/cleared", APP],
  ["thread/prediction/updated", APP],
  ["thread/environment/connected", APP],
  ["thread/environment/disconnected", APP],
  ["skills/changed", APP],
  ["app/list/updated", APP],
  ["remoteControl/status/changed", APP],
  ["externalAgentConfig/import/progress", APP],
  ["externalAgentConfig/import/completed", APP],
  ["windowsSandbox/setupCompleted", APP],

  ["account/updated", ACCOUNT],
  ["account/login/completed", ACCOUNT],
  ["account/gatewayOAuth/changed", ACCOUNT],

  ["command/exec/outputDelta", OTHER_CALL],
  ["process/outputDelta", OTHER_CALL],
  ["process/exited", OTHER_CALL],
  ["fs/changed", OTHER_CALL],
  ["fuzzyFileSearch/sessionUpdated", OTHER_CALL],
  ["fuzzyFileSearch/sessionCompleted", OTHER_CALL],

  ["thread/realtime/started", VOICE],
  ["thread/realtime/itemAdded", VOICE],
  ["thread/realtime/item/started", VOICE],
  ["thread/realtime/item/transcript/delta", VOICE],
  ["thread/realtime/item/completed", VOICE],
  ["thread/realtime/transcript/delta", VOICE],
  ["thread/realtime/transcript/done", VOICE],
  ["thread/realtime/outputAudio/delta", VOICE],
  ["thread/realtime/sdp", VOICE],
  ["thread/realtime/error", VOICE],
  ["thread/realtime/closed", VOICE],
]);

/** Undefined for notifications that are not shown, known or not. */
export function translationOf(method: string): Translation | undefined {
  const known = NOTIFICATIONS.get(method);
  return typeof known === "function" ? known : undefined;
}

function planStep(entry: unknown): PlanStep {
  const { step, status } = asFields(entry);
  return { step: asText(step), status: status === "inProgress" ? "in_progress" : status === "completed" ? "completed" : "pending" };
}

function tokenUsageInfo(usage: Fields): TokenUsageInfo {
  return {
    total_token_usage: tokenCounts(asFields(usage["total"])),
    last_token_usage: tokenCounts(asFields(usage["last"])),
    model_context_window: asNumber(usage["modelContextWindow"]),
  };
}

export function rateLimitsOf(limits: Fields): RateLimits {
  return {
    primary: windowOf(limits["primary"]),
    secondary: windowOf(limits["secondary"]),
    credits: creditsOf(limits["credits"]),
    plan_type: nonEmptyText(limits["planType"]) ?? null,
  };
}

function tokenCounts(counts: Fields): TokenUsage {
  const count = (key: string) => asNumber(counts[key]) ?? 0;
  return {
    input_tokens: count("inputTokens"),
    cached_input_tokens: count("cachedInputTokens"),
    output_tokens: count("outputTokens"),
    reasoning_output_tokens: count("reasoningOutputTokens"),
    total_tokens: count("totalTokens"),
  };
}

function windowOf(value: unknown): RateLimitWindow | null {
  const { usedPercent, windowDurationMins, resetsAt } = asFields(value);
  const used = asNumber(usedPercent);
  return used === null ? null : { used_percent: used, window_minutes: asNumber(windowDurationMins), resets_at: asNumber(resetsAt) };
}

function creditsOf(value: unknown): RateLimits["credits"] {
  const { hasCredits, unlimited, balance } = asFields(value);
  if (typeof hasCredits !== "boolean") return null;
  return { has_credits: hasCredits, unlimited: unlimited === true, balance: nonEmptyText(balance) ?? null };
}
