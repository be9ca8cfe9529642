import type { ThreadEvent, TurnOutcome } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import type { Call } from "../call.js";
import type { ApprovalDoor } from "../sessions/elicitationChannel.js";
import type { CallToolResult } from "../wording/callResult.js";

/** A tool as `tools/list` shows it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: ToolAnnotations;
}

/** What a client may want to know before it lets a model call a tool. */
interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
}

/** A call whose answer is what becomes of a turn. Whoever serves the call attaches to the turn, each era of MCP in its own way. */
export interface TurnCall {
  readonly turn: Turn;
  /** How the turn's questions reach somebody. */
  readonly approvals: ApprovalDoor;
  /** To be told every event of the turn, once. */
  readonly observe: (event: ThreadEvent) => void;
  readonly answer: (outcome: TurnOutcome, options: { readonly nameThreadInText: boolean }) => CallToolResult;
}

/** What a tool does with a call. Whatever goes wrong is an `isError` result; a rejection is a defect. */
export type ToolAction = (args: unknown, call: Call) => Promise<CallToolResult | TurnCall>;
