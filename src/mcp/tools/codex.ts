import { SettingsInvalid } from "../../agent/errors.js";
import { FolderNotNamed } from "../../agent/grantedSettings.js";
import { APPROVAL_POLICIES, type ApprovalPolicy, SANDBOX_MODES, type SandboxMode } from "../../exec/policies.js";
import { type DraftResult, refusal } from "../wording/callResult.js";
import {
  arg,
  checkPrompt,
  defineTool,
  type McpToolContext,
  RESULT_TOKENS,
  resultTokens,
  SHOWN_AT_ONCE,
  TURN_OUTPUT,
  type TurnAnswer,
  WAIT_ARGUMENT,
} from "./tool.js";

/** Opens a thread and runs its first turn. */
export const codexTool = defineTool({
  name: "codex",
  title: "Codex",
  description:
    "Has Codex, a coding agent, do a task in a folder on a new thread. Takes 1 to 20 minutes. Returns its answer, the files that changed, and a threadId for codex-reply; `running` means: call codex-wait.",
  input: {
    prompt: arg.text("The task, self-contained: the agent does not see your conversation."),
    "approval-policy": arg.optional(arg.choice(APPROVAL_POLICIES, "When the agent asks before it runs a command.")),
    "base-instructions": arg.optional(arg.text("In place of the built-in instructions.")),
    "compact-prompt": arg.optional(arg.text("How a long conversation is summarised.")),
    config: arg.optional(arg.table("Over config.toml, e.g. `model_reasoning_effort`; dotted keys.")),
    cwd: arg.optional(arg.text("Absolute path of the folder to work in.")),
    "developer-instructions": arg.optional(arg.text("Further instructions.")),
    model: arg.optional(arg.text("Omit unless the user names one.")),
    profile: arg.optional(arg.text("A profile of config.toml.")),
    "result-tokens": RESULT_TOKENS,
    sandbox: arg.optional(
      arg.choice(SANDBOX_MODES, "`read-only` (default unless configured) changes nothing; use `workspace-write` to change files."),
    ),
    wait: WAIT_ARGUMENT,
  },
  output: TURN_OUTPUT,
  meta: SHOWN_AT_ONCE,
  sets: ["codex"],
  order: 1,
  wording: { structName: "CodexToolCallParam", absent: "Missing arguments for codex tool-call; the `prompt` field is required." },
  answers: "the agent's last message, and the `threadId`",
  example: { prompt: "Why does the date test fail?", cwd: ".", sandbox: "read-only" },
  async call(task, context) {
    checkPrompt(task.prompt);
    return beginTask(task, context);
  },
});

/** The arguments of both declarations of `codex`. */
interface TaskArguments {
  readonly prompt: string;
  readonly config: Readonly<Record<string, unknown>> | undefined;
  readonly cwd: string | undefined;
  readonly model: string | undefined;
  readonly profile: string | undefined;
  readonly sandbox: SandboxMode | undefined;
  readonly "approval-policy": ApprovalPolicy | undefined;
  readonly "base-instructions": string | undefined;
  readonly "developer-instructions": string | undefined;
  readonly "compact-prompt": string | undefined;
  readonly "result-tokens"?: number | undefined;
  readonly wait?: number | undefined;
}

/** Opens a thread with its first turn. */
export async function beginTask(
  { prompt, config, cwd, model, profile, sandbox, wait, ...named }: TaskArguments,
  { agent, ask, turnId, clientRoots }: McpToolContext,
  { takesAnyFolder = false }: { readonly takesAnyFolder?: boolean } = {},
): Promise<DraftResult | TurnAnswer> {
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
    takesAnyFolder,
  };
  try {
    return { turn: await agent.begin(ask, { text: prompt }, { ...asked, turnId }), wait, ...resultTokens(named["result-tokens"]) };
  } catch (error) {
    if (error instanceof FolderNotNamed) return { ...refusal(error), advice: folderAdvice(await clientRoots(), error.recent) };
    if (error instanceof SettingsInvalid) return refusal(error, `Failed to load Codex configuration from overrides: ${error.message}`);
    throw error;
  }
}

function folderAdvice(roots: readonly string[], recent: readonly string[]): string | undefined {
  if (roots.length > 0) return `Your client works in: ${roots.join(", ")}.`;
  return recent.length > 0 ? `Recent threads worked in: ${recent.join(", ")}.` : undefined;
}
