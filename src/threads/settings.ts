import type { ApprovalPolicy, SandboxPolicy, ShellEnvironmentPolicy } from "../exec/policies.js";

/** The current general model of Codex's catalogue: used where no model is named, and as the replacement for discontinued models. */
export const DEFAULT_MODEL = "gpt-6.1-sol";

/** How hard a model thinks: `low`, `high`, `max`, … Each model family has its own words, so the engine validates them. */
export type ReasoningEffort = string;

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
      /** Names of environment variables that are passed on. */
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

export interface LeftOutServer {
  readonly name: string;
  /** Shown to a caller who starts a thread without it. */
  readonly warning: string;
}

/** Reported with the first turn of a thread. */
export type OpeningNotice =
  | { readonly type: "warning"; readonly message: string; readonly ofThread: true }
  | { readonly type: "deprecation"; readonly summary: string; readonly details: string };

/** All settings of a thread, resolved from defaults, config.toml, profile, command line and call. */
export interface ThreadSettings {
  readonly cwd: string;
  readonly model: string;
  readonly provider: ModelProvider;
  readonly approvalPolicy: ApprovalPolicy;
  readonly sandboxPolicy: SandboxPolicy;
  readonly reasoningEffort?: ReasoningEffort;
  readonly reasoningSummary: ReasoningSummary;
  readonly verbosity?: Verbosity;
  /** Overrides the model catalogue. */
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
  /** Configured MCP servers that no thread may start, because they are this server itself. */
  readonly leftOutServers?: readonly LeftOutServer[];
  /** Which of the server's environment variables commands can see. */
  readonly shellEnvironment: ShellEnvironmentPolicy;
  /** Overrides the limit on tool output for the model. */
  readonly toolOutputTokenLimit?: number;
  /** A program and its arguments, run after each turn that completes. */
  readonly notify?: readonly string[];
  readonly webSearch?: "disabled" | "cached" | "live";
  readonly features: Readonly<Record<string, boolean>>;
  /** The agent may only read: it gets read-only tools, nothing leaves the sandbox, whatever a rule allows, and no approval is requested. */
  readonly looksOnly?: true;
  /** Settings from outside config.toml (profile, command line, call), for an engine that reads config.toml itself. */
  readonly stated?: Readonly<Record<string, unknown>>;
  /** No model was named outside config.toml: an engine with its own models chooses. */
  readonly modelIsDefault?: boolean;
  /** No model was named anywhere, or it was given as `latest`: where our choice is not offered, another model replaces it. */
  readonly modelIsOurs?: "default" | "latest";
  /** The named model may be replaced where it is not offered. */
  readonly modelIsReplaceable?: boolean;
  /** The thread must behave as with Codex 0.92.0, even where that version did not know a model or gave no hints. */
  readonly asRecorded?: boolean;
  /** Codex 0.92.0's notices about such settings. */
  readonly recordedNotices?: readonly OpeningNotice[];
  /** Notices about the configuration for whoever runs the server (unknown keys and the like). */
  readonly notices: readonly string[];
  /** A notice about the `config` of the call, for its caller. Engine `codex` has its own. */
  readonly callNotice?: string;
}
