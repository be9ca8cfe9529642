import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../approvals/model.js";
import type { FileChanges } from "../exec/actions.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import type { CommandCall, CommandOutcome, Item, McpInvocation, McpServerStatus, PlanStep, RawItem } from "./items.js";
import type { ThreadSettings } from "./settings.js";
import type { RateLimits, TokenUsageInfo } from "./usage.js";

export interface TurnInput {
  readonly text: string;
  /** Images that belong to the text: `data:` or `https:` URLs. */
  readonly images?: readonly string[] | undefined;
  /** The kind of turn, when it does not answer the text; the text is empty then. */
  readonly work?: TurnWork | undefined;
}

export type TurnWork =
  /** Replaces the thread's history by a summary. */
  { readonly kind: "compact" } | { readonly kind: "review"; readonly target: ReviewTarget };

export type ReviewTarget =
  | { readonly type: "uncommittedChanges" }
  | { readonly type: "baseBranch"; readonly branch: string }
  | { readonly type: "commit"; readonly sha: string; readonly title?: string }
  | { readonly type: "custom"; readonly instructions: string };

/** Codex's classification of a failure, as clients receive it. */
export type CodexErrorInfo =
  | "context_window_exceeded"
  | "usage_limit_exceeded"
  | "internal_server_error"
  | "unauthorized"
  | "bad_request"
  | "sandbox_error"
  | "other"
  | {
      readonly [name in
        | "http_connection_failed"
        | "response_stream_connection_failed"
        | "response_stream_disconnected"
        | "response_too_many_failed_attempts"]?: { readonly http_status_code: number | null };
    };

/** A sub-agent: it works for a thread's agent, on a thread of its own. */
export interface HelpingAgent {
  readonly agentId: string;
  readonly name: string;
  /** Its task; null if unknown. */
  readonly task: string | null;
  readonly status: "running" | "completed" | "failed" | "interrupted";
  /** Its last message, or the reason for its failure. */
  readonly result: string | null;
  /** The tokens it has used so far. They are not part of the thread's receipts. */
  readonly tokens: number;
}

/** What happened on a thread, whichever engine ran it. Closed: every reader handles every kind. */
export type ThreadEvent =
  // the thread opens
  | {
      readonly type: "threadConfigured";
      readonly threadId: ThreadId;
      readonly settings: ThreadSettings;
      readonly recordPath: string | undefined;
      readonly sandboxBackend?: string | undefined;
    }
  | { readonly type: "contextItem"; readonly item: RawItem }
  | { readonly type: "deprecation"; readonly summary: string; readonly details?: string }
  | {
      readonly type: "mcpStartupCompleted";
      readonly ready: readonly string[];
      readonly failed: readonly { readonly server: string; readonly error: string }[];
      readonly cancelled: readonly string[];
    }
  // a turn runs
  | { readonly type: "turnStarted"; readonly contextWindow: number | null }
  /** The settings a model request is made with; recorded, not shown. */
  | { readonly type: "turnContext"; readonly settings: ThreadSettings; readonly sandboxBackend?: string }
  | { readonly type: "rawItem"; readonly item: RawItem }
  /** Part of the model's conversation that is recorded but not shown. */
  | { readonly type: "unseenItem"; readonly item: RawItem }
  | { readonly type: "itemStarted"; readonly item: Item }
  | { readonly type: "itemCompleted"; readonly item: Item }
  | { readonly type: "messageDelta"; readonly itemId: string; readonly delta: string }
  | {
      readonly type: "reasoningDelta";
      readonly itemId: string;
      readonly summaryIndex: number;
      readonly delta: string;
    }
  | {
      readonly type: "rawReasoningDelta";
      readonly itemId: string;
      readonly contentIndex: number;
      readonly delta: string;
    }
  | { readonly type: "reasoningSectionBreak"; readonly itemId: string; readonly summaryIndex: number }
  | { readonly type: "tokenCount"; readonly usage: TokenUsageInfo | null; readonly rateLimits: RateLimits }
  // commands, patches and other tools
  /** `awaitsApproval`: approval is requested before it runs. Absent while that is not known. */
  /** `onlyLooks`: the command is known not to change files. */
  | ({ readonly type: "commandStarted"; readonly awaitsApproval?: true; readonly onlyLooks?: true } & CommandCall)
  /** `ofTurn`: the turn in which the command began, for events after the command's call. */
  | {
      readonly type: "commandOutput";
      readonly callId: string;
      readonly stream: "stdout" | "stderr";
      readonly bytes: Uint8Array;
      readonly ofTurn?: TurnId;
    }
  | ({ readonly type: "commandEnded"; readonly ofTurn?: TurnId } & CommandCall & CommandOutcome)
  /** The model turns to a command that still runs, including one of an earlier turn, to give it input or to wait for its output. */
  | { readonly type: "commandResumed"; readonly callId: string }
  /** Input was typed into a command. The event comes after the output for which the call then waited. */
  | { readonly type: "commandTyped"; readonly callId: string; readonly sessionId: number; readonly typed: string }
  | { readonly type: "patchStarted"; readonly callId: string; readonly autoApproved: boolean; readonly changes: FileChanges }
  | {
      readonly type: "patchEnded";
      readonly callId: string;
      readonly stdout: string;
      readonly stderr: string;
      readonly success: boolean;
      readonly changes: FileChanges;
      /** The patch was refused and not applied. */
      readonly declined?: true;
    }
  /** All changes by the turn's patches so far, as one diff. */
  | { readonly type: "turnDiff"; readonly unifiedDiff: string }
  | { readonly type: "imageViewed"; readonly callId: string; readonly path: string }
  | { readonly type: "mcpStartupUpdated"; readonly server: string; readonly status: McpServerStatus }
  | { readonly type: "mcpToolStarted"; readonly callId: string; readonly invocation: McpInvocation }
  | {
      readonly type: "mcpToolEnded";
      readonly callId: string;
      readonly invocation: McpInvocation;
      readonly durationMs: number;
      readonly result: { readonly Ok: unknown } | { readonly Err: string };
    }
  | { readonly type: "approvalRequested"; readonly request: ApprovalRequest }
  | { readonly type: "approvalDecided"; readonly id: ApprovalId; readonly decision: ApprovalDecision }
  | { readonly type: "planUpdated"; readonly explanation: string | null; readonly plan: readonly PlanStep[] }
  /** The history was replaced by a summary; `replacement` is the new history. */
  | { readonly type: "historyCompacted"; readonly message: string; readonly replacement: readonly RawItem[] }
  | { readonly type: "reviewStarted"; readonly target: ReviewTarget; readonly hint: string }
  /** The verdict as text; null when the review was interrupted. */
  | { readonly type: "reviewEnded"; readonly text: string | null }
  /** `ofThread`: about how the thread was opened, not about a turn. */
  | { readonly type: "warning"; readonly message: string; readonly ofThread?: true }
  /** A sub-agent has started or ended. Only engines with sub-agents report it. */
  | ({ readonly type: "agentChanged" } & HelpingAgent)
  /** A line for the log that does not affect the turn. */
  | { readonly type: "backgroundNote"; readonly message: string }
  | {
      readonly type: "modelRetry";
      readonly attempt: number;
      readonly limit: number;
      readonly cause: string;
      /** The HTTP status of the model provider's error response. */
      readonly status?: number;
      /** Only the request is retried; Codex does not report this to its clients. */
      readonly quiet?: true;
    }
  // a turn ends, once
  | { readonly type: "turnCompleted"; readonly lastMessage: string | null }
  | { readonly type: "turnFailed"; readonly message: string; readonly info: CodexErrorInfo }
  | { readonly type: "turnAborted"; readonly reason: "interrupted" | "replaced" };

export type TurnEnd = Extract<ThreadEvent, { type: "turnCompleted" | "turnFailed" | "turnAborted" }>;

export type TurnOutcome =
  | { readonly status: "completed"; readonly lastMessage: string | null }
  | { readonly status: "failed"; readonly message: string }
  | { readonly status: "interrupted" };
