import { confirmation } from "../wording/callResult.js";
import { arg, checkPrompt, defineTool, parseNamedThread } from "./tool.js";

/** Adds input to a running turn. Its effect shows in the result of the call that started the turn. */
export const steerTool = defineTool({
  name: "codex-steer",
  title: "Codex Steer",
  description:
    "Gives a running turn more to consider without stopping it, at once. Its effect shows in that turn's answer. If no turn runs, use codex-reply.",
  input: { threadId: arg.text("The thread."), prompt: arg.text("What the agent should consider.") },
  output: { type: "object", properties: { threadId: { type: "string" }, content: { type: "string" } }, required: ["threadId", "content"] },
  annotations: { destructiveHint: false },
  sets: ["codex"],
  order: 8,
  answers: "a confirmation, immediately; the effect shows in the result of the running turn",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5", prompt: "Leave the changelog alone." },
  async call({ threadId, prompt }, { agent, ask }) {
    const id = parseNamedThread(threadId);
    checkPrompt(prompt);
    await agent.steer(ask, id, prompt);
    return confirmation(id, "Added to the running turn. Its effect is in the answer of that turn, which codex-wait returns.");
  },
});
