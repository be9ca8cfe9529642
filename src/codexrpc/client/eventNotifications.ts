import { type EventMsg, eventMsgs } from "../../codexwire/eventMsg.js";
import type { DeliveryHints } from "../../jsonrpc/wire.js";
import type { ThreadId, TurnId } from "../../lib/ids.js";
import { deliveryHints } from "../../mcp/wording/codexEvent.js";
import type { ThreadEvent } from "../../threads/events.js";

/** One `codex/event/<tag>` notification for a listener. */
export interface EventNotification {
  readonly method: string;
  readonly params: { readonly conversationId: ThreadId; readonly id: string; readonly msg: EventMsg };
  readonly about: DeliveryHints;
}

interface Where {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
}

/** The notifications of an event, in order. Raw items are the model's conversation, sent only on request. */
export function eventNotifications(event: ThreadEvent, where: Where, { raw }: { readonly raw: boolean }): EventNotification[] {
  return eventMsgs(event, where)
    .filter(({ type }) => raw || type !== "raw_response_item")
    .map((msg) => ({
      method: `codex/event/${msg.type}`,
      params: { conversationId: where.threadId, id: submissionOf(event, where), msg: oldUserMessage(msg) },
      // A client that returns too late reads the conversation again.
      about: { ...deliveryHints(event), passing: true },
    }));
}

/** Events of opening a thread belong to no submission. */
function submissionOf({ type }: ThreadEvent, { turnId }: Where): string {
  const isOpening = type === "threadConfigured" || type === "deprecation" || type === "mcpStartupUpdated" || type === "mcpStartupCompleted";
  return isOpening ? "" : turnId;
}

/** Front ends of September 2025 show a user message only if it is marked as plain. */
export function oldUserMessage(msg: EventMsg): EventMsg {
  return msg.type === "user_message" && !("kind" in msg) ? { ...msg, kind: "plain" } : msg;
}
