import { visible } from "../../lib/visibleText.js";
import type { ThreadEvent } from "../../threads/events.js";

/** MCP's log levels, least severe first. */
export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogMessage {
  readonly level: LogLevel;
  readonly data: Readonly<Record<string, unknown>>;
}

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}

export function reaches(level: LogLevel, threshold: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold);
}

/** The log message of an event: steps are info, retries and warnings are warning, failures are error. Never contains prompts or answers. */
export function logMessage(event: ThreadEvent): LogMessage | undefined {
  switch (event.type) {
    case "turnStarted":
      return { level: "info", data: { message: "turn started" } };
    case "itemStarted":
      return event.item.kind === "userMessage" ? undefined : { level: "info", data: { message: "item started", kind: event.item.kind } };
    case "planUpdated":
      return { level: "info", data: { message: "plan updated", steps: event.plan.length } };
    case "historyCompacted":
      return { level: "info", data: { message: "conversation summarised" } };
    case "commandStarted":
      return { level: "info", data: { message: "command started", callId: event.callId } };
    case "commandEnded":
      return { level: "info", data: { message: "command ended", callId: event.callId, exitCode: event.exitCode } };
    case "patchEnded":
      return { level: "info", data: { message: event.success ? "files changed" : "patch not applied", callId: event.callId } };
    case "approvalRequested":
      return { level: "info", data: { message: "approval requested", callId: event.request.subject.callId } };
    case "approvalDecided":
      return { level: "info", data: { message: "approval decided", decision: event.decision.kind } };
    case "mcpToolStarted":
      return {
        level: "info",
        data: { message: "tool called", server: visible(event.invocation.server), tool: visible(event.invocation.tool) },
      };
    case "modelRetry":
      return {
        level: "warning",
        data: { message: "asking the model again", attempt: event.attempt, limit: event.limit, cause: visible(event.cause) },
      };
    case "warning":
      return { level: "warning", data: { message: visible(event.message) } };
    case "turnCompleted":
      return { level: "info", data: { message: "turn completed" } };
    case "turnFailed":
      return { level: "error", data: { message: "turn failed", cause: visible(event.message) } };
    case "turnAborted":
      return { level: "warning", data: { message: "turn interrupted" } };
    default:
      return undefined;
  }
}
