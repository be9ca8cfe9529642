/** The fields of a conversation entry that the scripted model reads. */
export interface ScriptInputItem {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  /** Tools offered inside the conversation. */
  readonly tools?: readonly OfferedTool[];
}

/** A tool in a model request. */
export interface OfferedTool {
  readonly type: string;
  readonly name?: string;
  readonly namespace?: string;
  /** The tools of a namespace. */
  readonly tools?: readonly OfferedTool[];
}

interface Offer {
  readonly tools?: readonly OfferedTool[];
  readonly input: readonly ScriptInputItem[];
}

/** Newer clients put their tools into the conversation, and into namespaces. */
export function offeredTools({ tools = [], input }: Offer): OfferedTool[] {
  const inside = input.flatMap((item) => (item.type === "additional_tools" ? (item.tools ?? []) : []));
  return [...tools, ...inside].flatMap((tool) =>
    tool.type === "namespace" ? (tool.tools ?? []).map((inner) => ({ ...inner, namespace: tool.name ?? "" })) : [tool],
  );
}

/** What a call needs: the offered tools, and new ids. */
export interface CallContext {
  readonly tools: readonly OfferedTool[];
  readonly newId: (prefix: string) => string;
}

export type OutputItem = { readonly type: string } & Readonly<Record<string, unknown>>;

/** `collaboration.spawn_agent` is a tool in a namespace. */
export function functionCall(name: string, args: string, { newId }: CallContext): OutputItem {
  const [, namespace, tool = name] = /^([^.]+)\.(.+)$/.exec(name) ?? [];
  return { type: "function_call", call_id: newId("call"), name: tool, ...(namespace ? { namespace } : {}), arguments: args };
}

/** A call of a tool that is only offered to programs run by `exec`. */
function codeCall(name: string, argument: unknown, { newId }: CallContext): OutputItem {
  const input = `text(await tools.${name}(${JSON.stringify(argument)}));`;
  return { type: "custom_tool_call", call_id: newId("call"), name: CODE_TOOL, input };
}

const CODE_TOOL = "exec";

function runsCode(tools: readonly OfferedTool[]): boolean {
  return tools.some(({ type, name }) => type === "custom" && name === CODE_TOOL);
}

const SHELL_TOOLS = ["exec_command", "shell_command", "shell", "local_shell"];

const ESCALATION = {
  sandbox_permissions: "require_escalated",
  with_escalated_permissions: true,
  justification: "the script asks for it",
};

const CODE_ESCALATION = { sandbox_permissions: "require_escalated", justification: ESCALATION.justification };

/** Runs the command with the offered shell tool; `escalated` asks to leave the sandbox. */
export function shellCall(command: string, context: CallContext, options: { readonly escalated?: boolean } = {}): OutputItem {
  const tool = firstOffered(context.tools, SHELL_TOOLS);
  const extra = options.escalated ? ESCALATION : {};
  if (!tool && runsCode(context.tools))
    return codeCall("exec_command", { cmd: command, ...(options.escalated ? CODE_ESCALATION : {}) }, context);
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

/** Passes the patch to the apply_patch tool in its offered form, or to a shell if there is none. */
export function scriptedPatch(patch: string, context: CallContext): OutputItem {
  const tool = firstOffered(context.tools, ["apply_patch"]);
  if (tool?.type === "custom") return { type: "custom_tool_call", call_id: context.newId("call"), name: "apply_patch", input: patch };
  if (tool) return functionCall("apply_patch", JSON.stringify({ input: patch }), context);
  if (runsCode(context.tools)) return codeCall("apply_patch", patch, context);
  // The recordings use one more id for a patch through the shell.
  context.newId("call");
  return shellCall(`apply_patch <<'PATCH'\n${patch}\nPATCH`, context);
}

export function firstOffered(tools: readonly OfferedTool[], names: readonly string[]): OfferedTool | undefined {
  for (const name of names) {
    const tool = tools.find((candidate) => candidate.name === name || candidate.type === name);
    if (tool) return tool;
  }
  return undefined;
}

export function planCall(plan: object, context: CallContext): OutputItem {
  const isHidden = !firstOffered(context.tools, ["update_plan"]) && runsCode(context.tools);
  return isHidden ? codeCall("update_plan", { plan }, context) : functionCall("update_plan", JSON.stringify({ plan }), context);
}
