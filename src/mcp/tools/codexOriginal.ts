import { APPROVAL_POLICIES, SANDBOX_MODES } from "../../exec/policies.js";
import { beginTask } from "./codex.js";
import { arg, defineTool, THREAD_OUTPUT } from "./tool.js";

/** `codex` exactly as Codex 0.92.0 declared it, without our additions. */
export const codexOriginalTool = defineTool({
  name: "codex",
  title: "Codex",
  description: "Starts a coding agent on a task in a working directory and returns its final answer with the id of the thread it runs on.",
  input: {
    "approval-policy": arg.optional(
      arg.choice(APPROVAL_POLICIES, "When the agent asks before it runs a command: `untrusted`, `on-failure`, `on-request` or `never`."),
    ),
    "base-instructions": arg.optional(arg.text("Instructions for the agent, in place of the built-in ones.")),
    "compact-prompt": arg.optional(arg.text("What the model is asked when a long conversation is summarised.")),
    config: arg.optional(arg.table("Settings for this thread, laid over config.toml; dotted keys reach nested ones.")),
    cwd: arg.optional(arg.text("Working directory; a relative one starts at the server's own.")),
    "developer-instructions": arg.optional(arg.text("Further instructions, given to the model in the developer role.")),
    model: arg.optional(arg.text("The model to use; the configured one unless given.")),
    profile: arg.optional(arg.text("A profile of config.toml to start from.")),
    prompt: arg.text("What the agent should do."),
    sandbox: arg.optional(arg.choice(SANDBOX_MODES, "What commands may touch: `read-only`, `workspace-write` or `danger-full-access`.")),
  },
  output: THREAD_OUTPUT,
  sets: ["codex-original"],
  ignoresUnknown: true,
  order: 1,
  wording: { structName: "CodexToolCallParam", absent: "Missing arguments for codex tool-call; the `prompt` field is required." },
  answers: "the agent's last message, and the `threadId`",
  example: { prompt: "Why does the date test fail?", cwd: ".", sandbox: "read-only" },
  call: (args, context) => beginTask(args, context, { takesAnyFolder: true }),
});
