import { AppError } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import { InvalidUuid, parseThreadId } from "../../lib/uuid.js";
import type { Turn } from "../../threads/turn.js";
import { type CallToolResult, failureOn, refusal } from "../callResult.js";
import { type Agent, answerWithTurn } from "./agent.js";
import { InvalidArguments, parseArguments } from "./arguments.js";
import { CodexReplyArguments } from "./schemas.js";
import type { ToolAction } from "./tool.js";

const ARGUMENTS = {
  schema: CodexReplyArguments,
  structName: "CodexToolCallReplyParam",
  absent: "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.",
};

/** `codex-reply`: one more turn on a thread, whichever process started it. */
export function codexReplyTool(agent: Agent): ToolAction {
  return async (args, call): Promise<CallToolResult> => {
    let threadId: ThreadId;
    let prompt: string;
    try {
      ({ threadId, prompt } = readCall(args));
    } catch (error) {
      if (error instanceof InvalidUuid) return refusal(`Failed to parse thread_id: ${error.message}`);
      if (error instanceof InvalidArguments) return refusal(error.message);
      throw error;
    }
    let turn: Turn;
    try {
      turn = await agent.threads.reply(threadId, { text: prompt });
    } catch (error) {
      if (error instanceof AppError) return failureOn(threadId, error.message);
      throw error;
    }
    return answerWithTurn(turn, call, agent);
  };
}

function readCall(args: unknown): { threadId: ThreadId; prompt: string } {
  const { threadId, conversationId, prompt } = parseArguments(args, ARGUMENTS);
  const named = threadId ?? conversationId;
  if (named === undefined) throw new InvalidArguments("Failed to parse thread_id: either threadId or conversationId must be provided");
  return { threadId: parseThreadId(named), prompt };
}
