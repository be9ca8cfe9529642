import type { ThreadId } from "../../lib/ids.js";
import type { CallToolResult } from "../wording/callResult.js";
import {
  arg,
  defineTool,
  type McpToolContext,
  onThread,
  parseNamedThread,
  RESULT_TOKENS,
  resultTokens,
  SHOWN_AT_ONCE,
  ThreadNotNamed,
  TURN_OUTPUT,
  type TurnAnswer,
  WAIT_ARGUMENT,
} from "./tool.js";
import { waitForTurn } from "./wait.js";

/** Runs another turn on a thread, whichever process started it. */
export const codexReplyTool = defineTool({
  name: "codex-reply",
  title: "Codex Reply",
  description:
    "Continues a thread with its history and settings, also one of an earlier run. Without `prompt` it waits for the running turn, as codex-wait does.",
  input: {
    prompt: arg.optional(arg.text("What to say next.")),
    threadId: arg.optional(arg.text("The `threadId` of a result.")),
    conversationId: arg.optional(arg.text("Older name of threadId.")),
    "result-tokens": RESULT_TOKENS,
    wait: WAIT_ARGUMENT,
  },
  output: TURN_OUTPUT,
  meta: SHOWN_AT_ONCE,
  sets: ["codex"],
  order: 2,
  wording: {
    structName: "CodexToolCallReplyParam",
    firstNeeded: 2,
    absent: "Missing arguments for codex-reply tool-call; the `threadId` field is required.",
  },
  answers: "the same, on that thread",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5", prompt: "Fix it." },
  call: replyOrWait,
});

interface NamedThread {
  readonly threadId: string | undefined;
  readonly conversationId: string | undefined;
}

/** The arguments of both declarations of `codex-reply`. */
interface ReplyArguments extends NamedThread {
  readonly prompt: string;
  readonly "result-tokens"?: number | undefined;
  readonly wait?: number | undefined;
}

/** Without a prompt the call waits for the running turn: some users allow their models only `codex` and `codex-reply`. */
async function replyOrWait(
  { prompt = "", ...rest }: Omit<ReplyArguments, "prompt"> & { readonly prompt: string | undefined },
  context: McpToolContext,
): Promise<CallToolResult | TurnAnswer> {
  if (prompt.trim() === "") return waitForTurn(namedThread(rest), rest, context);
  return continueThread({ ...rest, prompt }, context);
}

/** Runs another turn on the named thread. */
export async function continueThread(
  { prompt, wait, "result-tokens": tokens, ...named }: ReplyArguments,
  { agent, ask }: McpToolContext,
): Promise<CallToolResult | TurnAnswer> {
  const id = namedThread(named);
  return onThread(id, async () => ({ turn: await agent.reply(ask, id, { text: prompt }), wait, ...resultTokens(tokens) }));
}

function namedThread({ threadId, conversationId }: NamedThread): ThreadId {
  const named = threadId ?? conversationId;
  if (named === undefined) throw new ThreadNotNamed("Failed to parse thread_id: either threadId or conversationId must be provided");
  return parseNamedThread(named);
}
