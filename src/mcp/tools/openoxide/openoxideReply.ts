import { arg, defineTool } from "../tool.js";
import { OPENOXIDE_OUTPUT, openoxideAnswer, parseOpenoxideThread } from "./openoxideResults.js";

/** Runs another turn on a thread, whichever process started it. */
export const openoxideReplyTool = defineTool({
  name: "openoxide-reply",
  title: "OpenOxide Reply",
  description: "Continues a coding session with its history and settings, also one of an earlier run.",
  input: {
    thread_id: arg.text("The `thread_id` of a result."),
    prompt: arg.text("What to say next."),
  },
  output: OPENOXIDE_OUTPUT,
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  sets: ["openoxide"],
  order: 2,
  answers: "the same, on that thread",
  example: { thread_id: "01a1deff-64d2-720b-95d7-1a4692eca0f5", prompt: "Fix it." },
  async call({ thread_id: id, prompt }, { agent, ask }) {
    return openoxideAnswer(await agent.reply(ask, parseOpenoxideThread(id), { text: prompt }));
  },
});
