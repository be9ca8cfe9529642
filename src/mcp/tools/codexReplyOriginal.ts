import { continueThread } from "./codexReply.js";
import { arg, defineTool, THREAD_OUTPUT } from "./tool.js";

/** `codex-reply` exactly as Codex 0.92.0 declared it. */
export const codexReplyOriginalTool = defineTool({
  name: "codex-reply",
  title: "Codex Reply",
  description: "Continues a thread that `codex` started, also one of an earlier run of this server, with its history and settings.",
  input: {
    conversationId: arg.optional(arg.text("Older name of threadId.")),
    prompt: arg.text("What to say next on this thread."),
    threadId: arg.optional(arg.text("The thread to continue, as a previous answer named it.")),
  },
  output: THREAD_OUTPUT,
  sets: ["codex-original"],
  ignoresUnknown: true,
  order: 2,
  wording: {
    structName: "CodexToolCallReplyParam",
    firstNeeded: 2,
    absent: "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.",
  },
  answers: "the same, on that thread",
  example: { threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5", prompt: "Fix it." },
  call: continueThread,
});
