import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../test/support/threads/rollouts.js";
import { newThreadId } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import { isLogLevel, LOG_LEVELS, logMessage, reaches } from "./logMessage.js";

const SECRET = "what was said";
const SAID = { type: "message", role: "user", content: [{ type: "input_text", text: SECRET }] };

describe("lines of the log", () => {
  it.for([
    [
      { type: "turnStarted", contextWindow: null },
      { level: "info", data: { message: "turn started" } },
    ],
    [
      { type: "itemStarted", item: { kind: "agentMessage", id: "m", texts: [SECRET] } },
      { level: "info", data: { message: "item started", kind: "agentMessage" } },
    ],
    [
      { type: "planUpdated", explanation: SECRET, plan: [{ step: SECRET, status: "pending" }] },
      { level: "info", data: { message: "plan updated", steps: 1 } },
    ],
    [
      { type: "historyCompacted", message: SECRET, replacement: [SAID] },
      { level: "info", data: { message: "conversation summarised" } },
    ],
    [
      { type: "modelRetry", attempt: 1, limit: 2, cause: "cut" },
      { level: "warning", data: { message: "asking the model again", attempt: 1, limit: 2, cause: "cut" } },
    ],
    [
      { type: "warning", message: "careful" },
      { level: "warning", data: { message: "careful" } },
    ],
    [
      { type: "turnCompleted", lastMessage: SECRET },
      { level: "info", data: { message: "turn completed" } },
    ],
    [
      { type: "turnFailed", message: "no model", info: "other" },
      { level: "error", data: { message: "turn failed", cause: "no model" } },
    ],
    [
      { type: "turnAborted", reason: "interrupted" },
      { level: "warning", data: { message: "turn interrupted" } },
    ],
  ] satisfies [ThreadEvent, unknown][])("%o", ([event, line]) => {
    expect(logMessage(event)).toEqual(line);
  });

  it.for([
    { type: "threadConfigured", threadId: newThreadId(), settings: settingsIn("/project"), recordPath: undefined },
    { type: "contextItem", item: SAID },
    { type: "deprecation", summary: "old" },
    { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
    { type: "turnContext", settings: settingsIn("/project") },
    { type: "rawItem", item: SAID },
    { type: "unseenItem", item: SAID },
    { type: "itemStarted", item: { kind: "userMessage", id: "u", text: SECRET } },
    { type: "itemCompleted", item: { kind: "agentMessage", id: "m", texts: [SECRET] } },
    { type: "messageDelta", itemId: "m", delta: SECRET },
    { type: "reasoningDelta", itemId: "r", summaryIndex: 0, delta: SECRET },
    { type: "rawReasoningDelta", itemId: "r", contentIndex: 0, delta: SECRET },
    { type: "reasoningSectionBreak", itemId: "r", summaryIndex: 0 },
    { type: "tokenCount", usage: null, rateLimits: { primary: null, secondary: null, credits: null, plan_type: null } },
  ] satisfies ThreadEvent[])("$type causes no line", (event) => {
    expect(logMessage(event)).toBeUndefined();
  });
});

describe("levels", () => {
  it("are MCP's, least severe first", () => {
    expect(LOG_LEVELS).toEqual(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);
    expect(["info", "INFO", "trace", 5, undefined].map(isLogLevel)).toEqual([true, false, false, false, false]);
  });

  it("reach a threshold at or above it", () => {
    expect(LOG_LEVELS.filter((level) => reaches(level, "warning"))).toEqual(["warning", "error", "critical", "alert", "emergency"]);
  });
});
