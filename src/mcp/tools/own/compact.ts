import { parseThreadId } from "../../../lib/uuid.js";
import type { Agent } from "../agent.js";
import { parseArguments, type ToolStruct } from "../arguments.js";
import { continueThread } from "../beginTurn.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { CompactArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { refusing } from "./answers.js";

const ARGUMENTS: ToolStruct<CompactArguments> = { schema: schemas.compactInput, tool: "codex-compact" };

/** `codex-compact`: a turn that puts a summary in the place of a thread's past. */
export function compactTool(agent: Agent): ToolAction {
  return refusing(async (args, call) => {
    const threadId = parseThreadId(parseArguments(args, ARGUMENTS).threadId);
    const input = { text: "", work: { kind: "compact" } } as const;
    return continueThread(agent, call, {
      threadId,
      input,
      ifSilent: "The thread was summarised: a summary has taken the place of its past.",
    });
  });
}
