import type { ThreadId } from "../../lib/ids.js";
import { InvalidUuid, parseThreadId } from "../../lib/uuid.js";
import { refusal } from "../wording/callResult.js";
import type { Agent } from "./agent.js";
import { InvalidArguments, parseArguments, type ToolStruct } from "./arguments.js";
import { continueThread } from "./beginTurn.js";
import schemas from "./schemas.generated.json" with { type: "json" };
import type { CodexReplyArguments } from "./schemas.js";
import type { ToolAction } from "./tool.js";

const ARGUMENTS: ToolStruct<CodexReplyArguments> = {
  schema: schemas.codexReplyInput,
  structName: "CodexToolCallReplyParam",
  absent: "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.",
};

/** `codex-reply`: one more turn on a thread, whichever process started it. */
export function codexReplyTool(agent: Agent): ToolAction {
  return async (args, call) => {
    let threadId: ThreadId;
    let prompt: string;
    try {
      ({ threadId, prompt } = readCall(args));
    } catch (error) {
      if (error instanceof InvalidUuid) return refusal(`Failed to parse thread_id: ${error.message}`);
      if (error instanceof InvalidArguments) return refusal(error.message);
      throw error;
    }
    return continueThread(agent, call, { threadId, input: { text: prompt } });
  };
}

function readCall(args: unknown): { threadId: ThreadId; prompt: string } {
  const { threadId, conversationId, prompt } = parseArguments(args, ARGUMENTS);
  const named = threadId ?? conversationId;
  if (named === undefined) throw new InvalidArguments("Failed to parse thread_id: either threadId or conversationId must be provided");
  return { threadId: parseThreadId(named), prompt };
}
