import { APPROVAL_POLICIES, SANDBOX_MODES } from "../../../exec/policies.js";
import { arg, defineTool } from "../tool.js";
import { OPENOXIDE_OUTPUT, openoxideAnswer } from "./openoxideResults.js";

/** Opens a thread and runs its first turn. */
export const openoxideTool = defineTool({
  name: "openoxide",
  title: "OpenOxide",
  description:
    "Starts a coding session: a coding agent does a task in a folder. Returns its answer and a thread_id for openoxide-reply. Takes minutes.",
  input: {
    prompt: arg.text("The task, self-contained."),
    model: arg.optional(arg.text("Omit unless the user names one.")),
    cwd: arg.optional(arg.text("Absolute path of the folder to work in.")),
    sandbox: arg.optional(arg.choice(SANDBOX_MODES, "What commands may touch.")),
    approval_policy: arg.optional(arg.choice(APPROVAL_POLICIES, "When the agent asks before it runs a command.")),
    instructions: arg.optional(arg.text("Further instructions, in the developer's role.")),
  },
  output: OPENOXIDE_OUTPUT,
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  sets: ["openoxide"],
  order: 1,
  answers: "the agent's last message, and the `thread_id`",
  example: { prompt: "Why does the date test fail?", cwd: ".", sandbox: "read-only" },
  async call({ prompt, model, cwd, sandbox, approval_policy: approvalPolicy, instructions }, { agent, ask, turnId }) {
    const asked = { model, cwd, sandbox, approvalPolicy, developerInstructions: instructions };
    return openoxideAnswer(await agent.begin(ask, { text: prompt }, { ...asked, turnId }));
  },
});
