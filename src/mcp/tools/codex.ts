import { SettingsInvalid } from "../../agent/errors.js";
import { APPROVAL_POLICIES, SANDBOX_MODES } from "../../exec/policies.js";
import { refusal } from "../wording/callResult.js";
import { arg, defineTool, TURN_OUTPUT } from "./tool.js";

/** Opens a thread and runs its first turn. */
export const codexTool = defineTool({
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
    model: arg.optional(arg.text("The model to use, e.g. `gpt-5.2-codex`.")),
    profile: arg.optional(arg.text("A profile of config.toml to start from.")),
    prompt: arg.text("What the agent should do."),
    sandbox: arg.optional(arg.choice(SANDBOX_MODES, "What commands may touch: `read-only`, `workspace-write` or `danger-full-access`.")),
  },
  output: TURN_OUTPUT,
  sets: ["codex", "codex-original"],
  order: 1,
  wording: { structName: "CodexToolCallParam", absent: "Missing arguments for codex tool-call; the `prompt` field is required." },
  answers: "the agent's last message, and the `threadId`",
  example: { prompt: "Why does the date test fail?", cwd: ".", sandbox: "read-only" },
  async call({ prompt, config, cwd, model, profile, sandbox, ...named }, { agent, ask, turnId }) {
    const asked = {
      config,
      cwd,
      model,
      profile,
      sandbox,
      approvalPolicy: named["approval-policy"],
      baseInstructions: named["base-instructions"],
      developerInstructions: named["developer-instructions"],
      compactPrompt: named["compact-prompt"],
    };
    try {
      return { turn: await agent.begin(ask, { text: prompt }, { ...asked, turnId }) };
    } catch (error) {
      if (error instanceof SettingsInvalid) return refusal(error, `Failed to load Codex configuration from overrides: ${error.message}`);
      throw error;
    }
  },
});
