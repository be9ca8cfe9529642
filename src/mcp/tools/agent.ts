import type { ThreadAccess } from "../../agent/access.js";
import type { Caller } from "../../agent/caller.js";
import { TurnSummary } from "../../agent/receipt.js";
import type { Engine } from "../../threads/engine.js";
import type { TurnLimits } from "../../threads/limits.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { ThreadRegistry } from "../../threads/threadRegistry.js";
import type { Turn } from "../../threads/turn.js";
import type { ApprovalDoor } from "../sessions/elicitationChannel.js";
import { resultOf } from "../wording/callResult.js";
import type { TurnCall } from "./tool.js";

/** What the agent tools work with. */
export interface Agent {
  readonly engineName: string;
  /** What the engine can do besides running turns. */
  readonly services: Engine["services"];
  readonly threads: ThreadRegistry;
  readonly approvals: ApprovalDoor;
  readonly access: ThreadAccess;
  /** Throws `AppError` with the reason when the call's settings cannot be had, `AboveCeiling` when this caller cannot have them. */
  readonly settingsFor: (asked: AskedSettings, caller: Caller | undefined) => ThreadSettings;
  /** Throws `AppError` with the reason when the user's rules forbid a command, whoever wants to run it. */
  readonly checkCommand: (argv: readonly string[], settings: ThreadSettings) => Promise<void>;
  /** How far the turns of a caller may go; undefined for one without limits. */
  readonly limitsOf: (caller: Caller | undefined) => TurnLimits | undefined;
}

/** The settings a call may name. */
export interface AskedSettings {
  readonly model?: string | undefined;
  readonly profile?: string | undefined;
  readonly cwd?: string | undefined;
  readonly approvalPolicy?: ThreadSettings["approvalPolicy"] | undefined;
  readonly sandbox?: ThreadSettings["sandboxPolicy"]["type"] | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  readonly baseInstructions?: string | undefined;
  readonly developerInstructions?: string | undefined;
  readonly compactPrompt?: string | undefined;
}

/** The call whose answer is what becomes of this turn; `ifSilent` when it completes without a word. */
export function answeredBy(turn: Turn, agent: Agent, { ifSilent }: { readonly ifSilent?: string | undefined } = {}): TurnCall {
  const summary = new TurnSummary();
  return {
    turn,
    approvals: agent.approvals,
    observe: (event) => summary.observe(event),
    answer: (outcome, { nameThreadInText }) =>
      resultOf(outcome.status === "completed" ? { ...outcome, lastMessage: outcome.lastMessage ?? ifSilent ?? null } : outcome, {
        threadId: turn.threadId,
        nameThreadInText,
        meta: { "codex-mcpd/turn": { engine: agent.engineName, status: outcome.status, ...summary.told() } },
      }),
  };
}
