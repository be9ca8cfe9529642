import type { ParsedCommand } from "../exec/actions.js";

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
