import { InvalidArguments } from "../../agent/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import { InvalidUuid, parseThreadId } from "../../lib/uuid.js";
import type { CallToolResult } from "../wording/callResult.js";
import { arg, defineTool, type McpToolContext, onThread, RESULT_TOKENS, resultTokens, TURN_OUTPUT, type TurnAnswer } from "./tool.js";

/** One more turn on a thread, whichever process started it. */
export const codexReplyTool = defineTool({
  name: "codex-reply",
  title: "Codex Reply",
  description: "Continues a thread that `codex` started, also one of an earlier run of this server, with its history and settings.",
  input: {
    prompt: arg.text("What to say next on this thread."),
    threadId: arg.optional(arg.text("The thread to continue, as a previous answer named it.")),
    conversationId: arg.optional(arg.text("Older name of threadId.")),
    "result-tokens": RESULT_TOKENS,
  },
  output: TURN_OUTPUT,
  sets: ["codex"],
  order: 2,
  wording: {
    structName: "CodexToolCallReplyParam",
    absent: "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.",
  },
  answers: "the same, on that thread",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5", prompt: "Mend it." },
  call: continueThread,
});

/** What both declarations of `codex-reply` take. */
interface ReplyArguments {
  readonly threadId: string | undefined;
  readonly conversationId: string | undefined;
  readonly prompt: string;
  readonly "result-tokens"?: number | undefined;
}

/** One more turn on the thread that the arguments name. */
export async function continueThread(
  { threadId, conversationId, prompt, "result-tokens": tokens }: ReplyArguments,
  { agent, ask }: McpToolContext,
): Promise<CallToolResult | TurnAnswer> {
  const named = threadId ?? conversationId;
  if (named === undefined) throw new InvalidArguments("Failed to parse thread_id: either threadId or conversationId must be provided");
  const id = parsedId(named);
  return onThread(id, async () => ({ turn: await agent.reply(ask, id, { text: prompt }), ...resultTokens(tokens) }));
}

function parsedId(named: string): ThreadId {
  try {
    return parseThreadId(named);
  } catch (error) {
    if (error instanceof InvalidUuid) throw new InvalidArguments(`Failed to parse thread_id: ${error.message}`, { cause: error });
    throw error;
  }
}
