import type { ApprovalPolicy, SandboxPolicy, ShellEnvironmentPolicy } from "../exec/policies.js";

/** The current general model of Codex's catalogue: asked where nobody names one, and the way out of names that are gone. */
export const DEFAULT_MODEL = "gpt-6.1-sol";

/** How hard a model thinks: `low`, `high`, `max`, … Each family has words of its own, so which are right is for the engine to say. */
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

export interface LeftOutServer {
  readonly name: string;
  /** For whoever starts a thread without it. */
  readonly warning: string;
}

/** Told with the first turn of a thread. */
export type OpeningNotice =
  | { readonly type: "warning"; readonly message: string; readonly ofThread: true }
  | { readonly type: "deprecation"; readonly summary: string; readonly details: string };

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
  /** Configured MCP servers that no thread may start, because they are this server itself. */
  readonly leftOutServers?: readonly LeftOutServer[];
  /** What of the server's environment commands get to see. */
  readonly shellEnvironment: ShellEnvironmentPolicy;
  /** Overrides how much of a tool's output the model gets. */
  readonly toolOutputTokenLimit?: number;
  readonly webSearch?: "disabled" | "cached" | "live";
  readonly features: Readonly<Record<string, boolean>>;
  /** The agent only looks: it is offered tools that read, nothing of it leaves the sandbox, whatever a rule allows, and nobody is asked. */
  readonly looksOnly?: true;
  /** What was said beside config.toml (profile, command line, call), for an engine that reads config.toml itself. */
  readonly stated?: Readonly<Record<string, unknown>>;
  /** Nobody named the model beside config.toml: an engine that has models of its own chooses. */
  readonly modelIsDefault?: boolean;
  /** Nobody named the model anywhere, or it was left to us as `latest`: where it is not offered, another one takes its place. */
  readonly modelIsOurs?: "default" | "latest";
  /** Somebody named the model, and takes another where it is not offered. */
  readonly modelIsReplaceable?: boolean;
  /** The thread is to be one of Codex 0.92.0, also where that did not know a model, or had no advice. */
  readonly asRecorded?: boolean;
  /** What Codex 0.92.0 remarked about settings like these. */
  readonly recordedNotices?: readonly OpeningNotice[];
  /** Remarks about the configuration worth telling the caller (unknown keys and the like). */
  readonly notices: readonly string[];
}
