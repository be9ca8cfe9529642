import type { ThreadSettings } from "../../threads/model.js";
import type { ThreadRegistry } from "../../threads/threadRegistry.js";
import type { Turn } from "../../threads/turn.js";
import type { ApprovalDoor } from "../approvalDoor.js";
import { type Call, seesStructuredContent } from "../call.js";
import { type CallToolResult, resultOf } from "../callResult.js";
import { followTurn } from "../callTurn.js";
import { TurnSummary } from "../turnSummary.js";

/** What the agent tools work with. */
export interface Agent {
  readonly engineName: string;
  readonly threads: ThreadRegistry;
  readonly approvals: ApprovalDoor;
  /** Throws `AppError` with the reason when the call's settings cannot be had. */
  readonly settingsFor: (asked: AskedSettings) => ThreadSettings;
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

/** Shows a turn to the call that asked for it, and answers the call with what became of it. */
export async function answerWithTurn(turn: Turn, call: Call, agent: Agent): Promise<CallToolResult> {
  const summary = new TurnSummary();
  const outcome = await followTurn(turn, call, { approvals: agent.approvals, observe: (event) => summary.observe(event) });
  return resultOf(outcome, {
    threadId: turn.threadId,
    nameThreadInText: !seesStructuredContent(call),
    meta: { "codex-mcpd/turn": { engine: agent.engineName, status: outcome.status, ...summary.told() } },
  });
}
