import { parseThreadId } from "../../lib/uuid.js";
import { answer } from "../wording/callResult.js";
import { arg, defineTool } from "./tool.js";

/** More for a turn that runs. What comes of it is in the answer of the call that began the turn. */
export const steerTool = defineTool({
  name: "codex-steer",
  title: "Codex Steer",
  description: "Gives the turn that runs on a thread more to consider.",
  input: { prompt: arg.text("What the agent should consider."), threadId: arg.text("The thread, as an answer named it.") },
  annotations: { destructiveHint: false },
  sets: ["codex"],
  order: 4,
  answers: "at once; what comes of it is in the answer of the call whose turn runs",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5", prompt: "Leave the changelog alone." },
  async call({ threadId, prompt }, { agent, ask }) {
    await agent.steer(ask, parseThreadId(threadId), prompt);
    return answer("Added to the running turn.");
  },
});
