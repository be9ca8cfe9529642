import type { ThreadId } from "../../lib/ids.js";
import type { CallToolResult } from "../wording/callResult.js";
import { idleResult } from "../wording/runningResult.js";
import {
  arg,
  defineTool,
  type McpToolContext,
  onThread,
  parseNamedThread,
  RESULT_TOKENS,
  resultTokens,
  TURN_OUTPUT,
  type TurnAnswer,
  textIfSilent,
  WAIT_ARGUMENT,
} from "./tool.js";

/** A long poll: returns when the turn ends, when it has a question, or when the waiting time is over. */
export const waitTool = defineTool({
  name: "codex-wait",
  title: "Codex Wait",
  description:
    "Waits for a thread whose result said `running` and returns its answer. May say `running` again: then call it again. Costs nothing while it waits.",
  input: { threadId: arg.text("The thread."), "result-tokens": RESULT_TOKENS, wait: WAIT_ARGUMENT },
  output: TURN_OUTPUT,
  annotations: { readOnlyHint: true },
  sets: ["codex"],
  order: 5,
  answers: "the result of the running turn, or of the last one; `running` if there is none yet",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5" },
  call: async ({ threadId, ...wanted }, context) => waitForTurn(parseNamedThread(threadId), wanted, context),
});

/** A model that has sent another prompt meanwhile must not take this answer for the one to that prompt. */
const NEWER_TURN = "The thread has a newer turn: call codex-wait again for its answer.";

/** The turn that a returning caller should wait for; if there is none, the thread's last answer. */
export function waitForTurn(
  id: ThreadId,
  { wait, "result-tokens": tokens }: { readonly wait?: number | undefined; readonly "result-tokens"?: number | undefined },
  { agent, ask, resultTokens: usual }: Pick<McpToolContext, "agent" | "ask" | "resultTokens">,
): Promise<CallToolResult | TurnAnswer> {
  return onThread(id, async () => {
    const found = await agent.resume(ask, id);
    if (!found) return idleResult(id, await agent.lastAnswer(ask, id), { tokens: tokens ?? usual });
    const { turn, hasNewer } = found;
    return { turn, wait, ifSilent: textIfSilent(turn), ...(hasNewer && { remark: NEWER_TURN }), ...resultTokens(tokens) };
  });
}
