/** A tool as a model request offers it. */
export interface OfferedTool {
  readonly type: string;
  readonly name?: string;
}

/** Where a call is made: the tools it may use, and the ids of the conversation. */
export interface CallContext {
  readonly tools: readonly OfferedTool[];
  readonly newId: (prefix: string) => string;
}

export type OutputItem = { readonly type: string } & Readonly<Record<string, unknown>>;

export function functionCall(name: string, args: string, { newId }: CallContext): OutputItem {
  return { type: "function_call", call_id: newId("call"), name, arguments: args };
}

const SHELL_TOOLS = ["exec_command", "shell_command", "shell", "local_shell"];

const ESCALATION = {
  sandbox_permissions: "require_escalated",
  with_escalated_permissions: true,
  justification: "the script asks for it",
};

/** Runs the command with whichever shell tool is offered; `escalated` asks to leave the sandbox. */
export function shellCall(command: string, context: CallContext, options: { readonly escalated?: boolean } = {}): OutputItem {
  const tool = firstOffered(context.tools, SHELL_TOOLS);
  const extra = options.escalated ? ESCALATION : {};
  const argv = ["bash", "-lc", command];
  if (tool?.type === "local_shell") {
    const action = { type: "exec", command: argv, ...extra };
    return { type: "local_shell_call", call_id: context.newId("call"), status: "completed", action };
  }
  const name = tool?.name ?? "shell";
  return functionCall(name, JSON.stringify({ ...shellArguments(name, command, argv), ...extra }), context);
}

function shellArguments(name: string, command: string, argv: readonly string[]): object {
  if (name === "exec_command") return { cmd: command };
  if (name === "shell_command") return { command };
  return { command: argv };
}

/** Hands the patch to the apply_patch tool in the form it is offered, or to a shell where it is not. */
export function patchCall(patch: string, context: CallContext): OutputItem {
  const tool = firstOffered(context.tools, ["apply_patch"]);
  if (tool?.type === "custom") return { type: "custom_tool_call", call_id: context.newId("call"), name: "apply_patch", input: patch };
  if (tool) return functionCall("apply_patch", JSON.stringify({ input: patch }), context);
  // The recordings count one id more for a patch that goes through the shell.
  context.newId("call");
  return shellCall(`apply_patch <<'PATCH'\n${patch}\nPATCH`, context);
}

function firstOffered(tools: readonly OfferedTool[], names: readonly string[]): OfferedTool | undefined {
  for (const name of names) {
    const tool = tools.find((candidate) => candidate.name === name || candidate.type === name);
    if (tool) return tool;
  }
  return undefined;
}
