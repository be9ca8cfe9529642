import { parseThreadId } from "../../lib/uuid.js";
import { arg, defineTool, onThread, TURN_OUTPUT } from "./tool.js";

/** A turn that puts a summary in the place of a thread's past. */
export const compactTool = defineTool({
  name: "codex-compact",
  title: "Codex Compact",
  description: "Replaces the past of a long thread by a summary.",
  input: { threadId: arg.text("The thread, as an answer named it.") },
  output: TURN_OUTPUT,
  sets: ["codex"],
  order: 5,
  answers: "when a summary has taken the place of the thread's past",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5" },
  async call({ threadId }, { agent, ask }) {
    const id = parseThreadId(threadId);
    const ifSilent = "The thread was summarised: a summary has taken the place of its past.";
    return onThread(id, async () => ({ turn: await agent.compact(ask, id), ifSilent }));
  },
});
