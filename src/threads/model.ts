import type { ApprovalDecision, ApprovalId, ApprovalRequest, FileChanges, ParsedCommand } from "../approvals/model.js";
import type { ThreadId } from "../lib/ids.js";

/** The vocabulary of the domain: a thread holds turns, a turn produces items, and everything that happens is a ThreadEvent. */

export const APPROVAL_POLICIES = ["untrusted", "on-failure", "on-request", "never"] as const;
export type ApprovalPolicy = (typeof APPROVAL_POLICIES)[number];

export const SANDBOX_MODES = ["read-only", "workspace-write", "danger-full-access"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** Written as Codex writes it in events and rollouts. */
export type SandboxPolicy =
  | { readonly type: "read-only" }
  | { readonly type: "danger-full-access" }
  | {
      readonly type: "workspace-write";
      readonly writable_roots?: readonly string[];
      readonly network_access: boolean;
      readonly exclude_tmpdir_env_var: boolean;
      readonly exclude_slash_tmp: boolean;
    };

export const REASONING_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

export const REASONING_SUMMARIES = ["auto", "concise", "detailed", "none"] as const;
export type ReasoningSummary = (typeof REASONING_SUMMARIES)[number];

export const VERBOSITIES = ["low", "medium", "high"] as const;
export type Verbosity = (typeof VERBOSITIES)[number];

/** Where and how a model is reached: one entry of `model_providers` in config.toml, defaults filled in. */
export interface ModelProvider {
  readonly id: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly wireApi: "responses" | "chat" | "responses_websocket";
  readonly envKey?: string;
  readonly envKeyInstructions?: string;
  readonly bearerToken?: string;
  readonly httpHeaders: Readonly<Record<string, string>>;
  /** Header name → environment variable; skipped when the variable is unset or blank. */
  readonly envHttpHeaders: Readonly<Record<string, string>>;
  readonly queryParams: Readonly<Record<string, string>>;
  readonly requestMaxRetries: number;
  readonly streamMaxRetries: number;
  readonly streamIdleTimeoutMs: number;
  readonly requiresOpenaiAuth: boolean;
}

/** One of the agent's own MCP servers: an enabled entry of `mcp_servers` in config.toml, defaults filled in. */
export interface McpServerSettings {
  readonly name: string;
  readonly transport: McpServerTransport;
  readonly startupTimeoutMs: number;
  readonly toolTimeoutMs: number;
  /** Absent: all of them. */
  readonly enabledTools?: readonly string[];
  /** Wins over `enabledTools`. */
  readonly disabledTools: readonly string[];
}

export type McpServerTransport =
  | {
      readonly kind: "program";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** Names of variables that are passed on. */
      readonly envVars: readonly string[];
      readonly cwd?: string;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly bearerTokenEnvVar?: string;
      readonly httpHeaders: Readonly<Record<string, string>>;
      /** Header name → environment variable; skipped when the variable is unset or blank. */
      readonly envHttpHeaders: Readonly<Record<string, string>>;
    };

/** `shell_environment_policy` of config.toml, defaults filled in. */
export interface ShellEnvironmentPolicy {
  readonly inherit: "all" | "core" | "none";
  readonly ignoreDefaultExcludes: boolean;
  readonly exclude: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly includeOnly: readonly string[];
  /** Variables that the configuration itself calls secret. */
  readonly secrets?: readonly string[];
  /** Whatever looks like a secret is kept from commands: somebody else than the user may be at work. */
  readonly hidesLikelySecrets?: boolean;
}

/** Everything a thread runs with, resolved from defaults, config.toml, profile, command line and call. */
export interface ThreadSettings {
  readonly cwd: string;
  readonly model: string;
  readonly provider: ModelProvider;
  readonly approvalPolicy: ApprovalPolicy;
  readonly sandboxPolicy: SandboxPolicy;
  readonly reasoningEffort?: ReasoningEffort;
  readonly reasoningSummary: ReasoningSummary;
  readonly verbosity?: Verbosity;
  /** Overrides what the model catalogue says. */
  readonly supportsReasoningSummaries?: boolean;
  readonly contextWindow?: number;
  readonly autoCompactTokenLimit?: number;
  readonly baseInstructions?: string;
  readonly developerInstructions?: string;
  readonly compactPrompt?: string;
  readonly projectDocMaxBytes: number;
  readonly projectDocFallbackFilenames: readonly string[];
  readonly projectRootMarkers: readonly string[];
  readonly showRawAgentReasoning: boolean;
  readonly mcpServers: readonly McpServerSettings[];
  /** Names of configured MCP servers that are this server itself: no thread may start them. */
  readonly leftOutServers?: readonly string[];
  /** What of the server's environment commands get to see. */
  readonly shellEnvironment: ShellEnvironmentPolicy;
  /** Overrides how much of a tool's output the model gets. */
  readonly toolOutputTokenLimit?: number;
  readonly webSearch?: "disabled" | "cached" | "live";
  readonly features: Readonly<Record<string, boolean>>;
  /** What was said beside config.toml (profile, command line, call), for an engine that reads config.toml itself. */
  readonly stated?: Readonly<Record<string, unknown>>;
  /** Nobody named the model beside config.toml: an engine that has models of its own chooses. */
  readonly modelIsDefault?: boolean;
  /** Remarks about the configuration worth telling the caller (unknown keys and the like). */
  readonly notices: readonly string[];
}

/** What whoever starts a thread should know of servers that it does without. */
export function leftOutWarnings({ leftOutServers = [] }: Pick<ThreadSettings, "leftOutServers">): readonly string[] {
  return leftOutServers.map((name) => `left out MCP server ${name}: it is this server, whose turns must not start others`);
}

export interface TurnInput {
  readonly text: string;
  /** What the turn is, when it is not an answer to the text; the text is empty then. */
  readonly work?: TurnWork | undefined;
}

export type TurnWork =
  /** Replaces the thread's past by a summary of it. */
  { readonly kind: "compact" } | { readonly kind: "review"; readonly target: ReviewTarget };

export type ReviewTarget =
  | { readonly type: "uncommittedChanges" }
  | { readonly type: "baseBranch"; readonly branch: string }
  | { readonly type: "commit"; readonly sha: string; readonly title?: string }
  | { readonly type: "custom"; readonly instructions: string };

/** An item of the model's conversation exactly as it went over the wire (`type` decides the rest). */
export type RawItem = { readonly type: string } & Readonly<Record<string, unknown>>;

export type Item =
  | { readonly kind: "userMessage"; readonly id: string; readonly text: string }
  | { readonly kind: "agentMessage"; readonly id: string; readonly texts: readonly string[] }
  | {
      readonly kind: "reasoning";
      readonly id: string;
      readonly summary: readonly string[];
      readonly rawContent: readonly string[];
    }
  | {
      readonly kind: "webSearch";
      readonly id: string;
      readonly query: string;
      readonly action: Readonly<Record<string, unknown>>;
    };

export interface TokenUsage {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_output_tokens: number;
  readonly total_tokens: number;
}

export interface TokenUsageInfo {
  readonly total_token_usage: TokenUsage;
  readonly last_token_usage: TokenUsage;
  readonly model_context_window: number | null;
}

export interface RateLimitWindow {
  readonly used_percent: number;
  readonly window_minutes: number | null;
  readonly resets_at: number | null;
}

export interface RateLimits {
  readonly primary: RateLimitWindow | null;
  readonly secondary: RateLimitWindow | null;
  readonly credits: { readonly has_credits: boolean; readonly unlimited: boolean; readonly balance: string | null } | null;
  readonly plan_type: string | null;
}

/** Codex's classification of a failure, as clients know it. */
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

export interface PlanStep {
  readonly step: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** A command as the model asked for it. */
export interface CommandCall {
  readonly callId: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly parsed: readonly ParsedCommand[];
}

export interface CommandOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly aggregatedOutput: string;
  readonly exitCode: number;
  readonly durationMs: number;
  /** The output as the model gets it: cut in the middle where it is long. */
  readonly formattedOutput: string;
}

export interface McpInvocation {
  readonly server: string;
  readonly tool: string;
  readonly arguments: unknown;
}

export type McpServerStatus = { readonly state: "starting" | "ready" | "cancelled" } | { readonly state: "failed"; readonly error: string };

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
  | ({ readonly type: "commandStarted" } & CommandCall)
  | { readonly type: "commandOutput"; readonly callId: string; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | ({ readonly type: "commandEnded" } & CommandCall & CommandOutcome)
  | { readonly type: "patchStarted"; readonly callId: string; readonly autoApproved: boolean; readonly changes: FileChanges }
  | {
      readonly type: "patchEnded";
      readonly callId: string;
      readonly stdout: string;
      readonly stderr: string;
      readonly success: boolean;
      readonly changes: FileChanges;
    }
  /** Everything the turn's patches changed so far, as one diff. */
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
  /** The verdict as text; null when the review was cut short. */
  | { readonly type: "reviewEnded"; readonly text: string | null }
  | { readonly type: "warning"; readonly message: string }
  /** Something worth a line in a log, of no consequence to the turn. */
  | { readonly type: "backgroundNote"; readonly message: string }
  | { readonly type: "modelRetry"; readonly attempt: number; readonly limit: number; readonly cause: string }
  // a turn ends, once
  | { readonly type: "turnCompleted"; readonly lastMessage: string | null }
  | { readonly type: "turnFailed"; readonly message: string; readonly info: CodexErrorInfo }
  | { readonly type: "turnAborted"; readonly reason: "interrupted" | "replaced" };

export type TurnEnd = Extract<ThreadEvent, { type: "turnCompleted" | "turnFailed" | "turnAborted" }>;

export type TurnOutcome =
  | { readonly status: "completed"; readonly lastMessage: string | null }
  | { readonly status: "failed"; readonly message: string }
  | { readonly status: "interrupted" };

export function isTurnEnd(event: ThreadEvent): event is TurnEnd {
  return event.type === "turnCompleted" || event.type === "turnFailed" || event.type === "turnAborted";
}
