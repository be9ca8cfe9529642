// Long because every event has its shape here.
import type { ApprovalRequest } from "../approvals/model.js";
import { assertNever } from "../lib/assertNever.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import { type CommandCall, type CommandOutcome, type Item, type RawItem, rawReasoning } from "../threads/items.js";

/** One Codex event as clients and rollouts know it: `type` plus that type's fields, in Codex 0.92.0's shape and key order. */
export type EventMsg = { readonly type: string } & Readonly<Record<string, unknown>>;

interface Where {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
}

/** ThreadEvent → the Codex events it shows as, in order: the item event first, then its older equivalents. */
export function eventMsgs(event: ThreadEvent, where: Where): EventMsg[] {
  switch (event.type) {
    case "threadConfigured":
      return [sessionConfigured(event)];
    case "contextItem":
    case "rawItem":
      return [{ type: "raw_response_item", item: shownItem(event.item) }];
    case "deprecation":
      return [{ type: "deprecation_notice", summary: event.summary, ...(event.details === undefined ? {} : { details: event.details }) }];
    case "mcpStartupCompleted":
      return [{ type: "mcp_startup_complete", ready: event.ready, failed: event.failed, cancelled: event.cancelled }];
    case "turnStarted":
      return [{ type: "task_started", model_context_window: event.contextWindow }];
    case "turnContext":
    case "unseenItem":
      return [];
    case "itemStarted":
      return itemStarted(event.item, where);
    case "itemCompleted":
      return [itemEvent("item_completed", event.item, where), ...legacyCompleted(event.item)];
    case "messageDelta":
      return [
        {
          type: "agent_message_content_delta",
          thread_id: where.threadId,
          turn_id: where.turnId,
          item_id: event.itemId,
          delta: event.delta,
        },
        { type: "agent_message_delta", delta: event.delta },
      ];
    case "reasoningDelta":
      return [
        {
          type: "reasoning_content_delta",
          thread_id: where.threadId,
          turn_id: where.turnId,
          item_id: event.itemId,
          delta: event.delta,
          summary_index: event.summaryIndex,
        },
        { type: "agent_reasoning_delta", delta: event.delta },
      ];
    case "rawReasoningDelta":
      return [
        {
          type: "reasoning_raw_content_delta",
          thread_id: where.threadId,
          turn_id: where.turnId,
          item_id: event.itemId,
          delta: event.delta,
          content_index: event.contentIndex,
        },
        { type: "agent_reasoning_raw_content_delta", delta: event.delta },
      ];
    case "reasoningSectionBreak":
      return [{ type: "agent_reasoning_section_break", item_id: event.itemId, summary_index: event.summaryIndex }];
    case "tokenCount":
      return [{ type: "token_count", info: event.usage, rate_limits: event.rateLimits }];
    case "commandStarted":
      return [{ type: "exec_command_begin", ...commandCall(event, where) }];
    case "commandOutput":
      return [
        {
          type: "exec_command_output_delta",
          call_id: event.callId,
          stream: event.stream,
          chunk: Buffer.from(event.bytes).toString("base64"),
        },
      ];
    case "commandEnded":
      return [commandEnd(event, where)];
    case "patchStarted":
      return [
        {
          type: "patch_apply_begin",
          call_id: event.callId,
          turn_id: where.turnId,
          auto_approved: event.autoApproved,
          changes: event.changes,
        },
      ];
    case "patchEnded": {
      const { callId, stdout, stderr, success, changes } = event;
      return [{ type: "patch_apply_end", call_id: callId, turn_id: where.turnId, stdout, stderr, success, changes }];
    }
    case "turnDiff":
      return [{ type: "turn_diff", unified_diff: event.unifiedDiff }];
    case "imageViewed":
      return [{ type: "view_image_tool_call", call_id: event.callId, path: event.path }];
    case "mcpStartupUpdated":
      return [{ type: "mcp_startup_update", server: event.server, status: event.status }];
    case "mcpToolStarted":
      return [{ type: "mcp_tool_call_begin", call_id: event.callId, invocation: event.invocation }];
    case "mcpToolEnded": {
      const { callId, invocation, durationMs, result } = event;
      return [{ type: "mcp_tool_call_end", call_id: callId, invocation, duration: duration(durationMs), result }];
    }
    case "approvalRequested":
      return [approvalRequest(event.request, where)];
    case "approvalDecided":
    // The model's raw call already says that it uses the command again.
    case "commandResumed":
      return [];
    case "commandTyped":
      return [{ type: "terminal_interaction", call_id: event.callId, process_id: String(event.sessionId), stdin: event.typed }];
    case "planUpdated":
      return [{ type: "plan_update", explanation: event.explanation, plan: event.plan }];
    case "historyCompacted":
      return [{ type: "context_compacted" }];
    case "reviewStarted":
      return [{ type: "entered_review_mode", target: event.target, user_facing_hint: event.hint }];
    case "reviewEnded":
      return [{ type: "exited_review_mode", review_output: event.text === null ? null : reviewOutput(event.text) }];
    case "warning":
      return [{ type: "warning", message: event.message }];
    case "agentChanged":
      // Clients learn about agents from background notes, which are plain text.
      return [];
    case "backgroundNote":
      return [{ type: "background_event", message: event.message }];
    case "modelRetry":
      if (event.quiet) return [];
      return [
        {
          type: "stream_error",
          message: `Reconnecting... ${event.attempt}/${event.limit}`,
          codex_error_info: { response_stream_disconnected: { http_status_code: shownStatus(event.status) } },
          additional_details: event.cause,
        },
      ];
    case "turnCompleted":
      return [{ type: "task_complete", last_agent_message: event.lastMessage }];
    case "turnFailed":
      return [{ type: "error", message: event.message, codex_error_info: event.info }];
    case "turnAborted":
      return [{ type: "turn_aborted", reason: event.reason }];
    default:
      return assertNever(event);
  }
}

/** Codex has a separate error kind for status 500, which carries no number. */
function shownStatus(status: number | undefined): number | null {
  return status === undefined || status === 500 ? null : status;
}

/** Reviewers answer in prose, and the event carries all of it; the result of the call has the findings as structured data. */
function reviewOutput(text: string): Record<string, unknown> {
  return { findings: [], overall_correctness: "", overall_explanation: text, overall_confidence_score: 0 };
}

function sessionConfigured({ threadId, settings, recordPath }: Extract<ThreadEvent, { type: "threadConfigured" }>): EventMsg {
  return {
    type: "session_configured",
    session_id: threadId,
    model: settings.model,
    model_provider_id: settings.provider.id,
    approval_policy: settings.approvalPolicy,
    sandbox_policy: settings.sandboxPolicy,
    cwd: settings.cwd,
    ...(settings.reasoningEffort === undefined ? {} : { reasoning_effort: settings.reasoningEffort }),
    history_log_id: 0,
    history_entry_count: 0,
    ...(recordPath === undefined ? {} : { rollout_path: recordPath }),
  };
}

function commandCall({ callId, sessionId, command, cwd, parsed }: CommandCall, where: Where): Omit<EventMsg, "type"> {
  const call = { turn_id: where.turnId, command, cwd, parsed_cmd: parsed };
  if (sessionId === undefined) return { call_id: callId, ...call, source: "agent" };
  return { call_id: callId, process_id: String(sessionId), ...call, source: "unified_exec_startup" };
}

function commandEnd(event: CommandCall & CommandOutcome, where: Where): EventMsg {
  return {
    type: "exec_command_end",
    ...commandCall(event, where),
    stdout: event.stdout,
    stderr: event.stderr,
    aggregated_output: event.aggregatedOutput,
    exit_code: event.exitCode,
    duration: duration(event.durationMs),
    formatted_output: event.formattedOutput,
  };
}

function approvalRequest({ id, subject }: ApprovalRequest, where: Where): EventMsg {
  if (subject.kind === "form") return { type: "elicitation_request", server_name: subject.server, id, message: subject.message };
  const asked = { call_id: subject.callId, turn_id: where.turnId };
  const reason = subject.reason === undefined ? {} : { reason: subject.reason };
  if (subject.kind === "patch") {
    const grant = subject.grantRoot === undefined ? {} : { grant_root: subject.grantRoot };
    return { type: "apply_patch_approval_request", ...asked, changes: subject.changes, ...reason, ...grant };
  }
  const { command, cwd, proposedPrefix, parsed } = subject;
  const amendment = proposedPrefix === undefined ? {} : { proposed_execpolicy_amendment: proposedPrefix };
  return { type: "exec_approval_request", ...asked, command, cwd, ...reason, ...amendment, parsed_cmd: parsed };
}

/** A duration as Rust serialises it. */
function duration(ms: number): { secs: number; nanos: number } {
  const secs = Math.floor(ms / 1000);
  return { secs, nanos: Math.round((ms - secs * 1000) * 1_000_000) };
}

function itemEvent(type: "item_started" | "item_completed", item: Item, where: Where): EventMsg {
  return { type, thread_id: where.threadId, turn_id: where.turnId, item: turnItem(item) };
}

function itemStarted(item: Item, where: Where): EventMsg[] {
  const started = itemEvent("item_started", item, where);
  return item.kind === "webSearch" ? [started, { type: "web_search_begin", call_id: item.id }] : [started];
}

function turnItem(item: Item): unknown {
  switch (item.kind) {
    case "userMessage":
      return {
        type: "UserMessage",
        id: item.id,
        content: [
          { type: "text", text: item.text, text_elements: [] },
          ...(item.images ?? []).map((image_url) => ({ type: "image", image_url })),
        ],
      };
    case "agentMessage":
      return { type: "AgentMessage", id: item.id, content: item.texts.map((text) => ({ type: "Text", text })) };
    case "reasoning":
      return { type: "Reasoning", id: item.id, summary_text: item.summary, raw_content: item.rawContent };
    case "webSearch":
      return { type: "WebSearch", id: item.id, query: item.query, action: item.action };
    default:
      return assertNever(item);
  }
}

function legacyCompleted(item: Item): EventMsg[] {
  switch (item.kind) {
    case "userMessage":
      return [{ type: "user_message", message: item.text, images: item.images ?? [], local_images: [], text_elements: [] }];
    case "agentMessage":
      return item.texts.map((message) => ({ type: "agent_message", message }));
    case "reasoning":
      return [
        ...item.summary.map((text) => ({ type: "agent_reasoning", text })),
        ...(item.rawShown ? item.rawContent : []).map((text) => ({ type: "agent_reasoning_raw_content", text })),
      ];
    case "webSearch":
      return [{ type: "web_search_end", call_id: item.id, query: item.query, action: item.action }];
    default:
      return assertNever(item);
  }
}

/** Known items are shown with the fields that Codex knows, in its order; unknown items are shown unchanged. */
function shownItem(item: RawItem): RawItem {
  switch (item.type) {
    case "message":
      return {
        type: "message",
        role: item["role"],
        content: shownContent(item["content"]),
        ...(typeof item["end_turn"] === "boolean" && { end_turn: item["end_turn"] }),
      };
    case "reasoning":
      return {
        type: "reasoning",
        summary: item["summary"] ?? [],
        ...rawReasoning(item),
        encrypted_content: item["encrypted_content"] ?? null,
      };
    case "function_call":
      return { type: "function_call", name: item["name"], arguments: item["arguments"], call_id: item["call_id"] };
    case "custom_tool_call": {
      const { type, status, call_id, name, input } = item;
      return { type, ...(status === undefined ? {} : { status }), call_id, name, input };
    }
    default: {
      const { id: _, ...shown } = item;
      return { ...shown, type: item.type };
    }
  }
}

function shownContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => {
    if (typeof part !== "object" || part === null || !("text" in part) || !("type" in part)) return part;
    return { type: part.type, text: part.text };
  });
}
