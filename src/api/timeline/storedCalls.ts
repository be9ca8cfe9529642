import { type Fields, isFields, textOrNothing } from "../../lib/fields.js";
import type { RawItem } from "../../threads/items.js";
import type { PlanSteps } from "../schemas/common.js";
import type { TimelineItem } from "../schemas/items.js";
import { readOutput } from "./commandOutput.js";
import { beginning, commandTextOf, diffsOfPatch, ending } from "./shownTexts.js";

/** An item without its id and position. */
export type ItemContent = TimelineItem extends infer Each
  ? Each extends TimelineItem
    ? Omit<Each, "id" | "turnId" | "at">
    : never
  : never;

const SHELLS: ReadonlySet<string> = new Set(["shell", "shell_command", "exec_command", "container.exec", "local_shell"]);
/** The status of a call without an output: its process may have died. */
const OPEN = { status: "failed" } as const;
const MCP = "mcp__";

/** A tool call before its output is known. */
export function callContent(item: RawItem, longest: number | undefined): ItemContent {
  const name = textOrNothing(item["name"]) ?? (item.type === "local_shell_call" ? "local_shell" : "tool");
  const given = textOrNothing(item["arguments"]) ?? textOrNothing(item["input"]) ?? "";
  const fields = item.type === "local_shell_call" && isFields(item["action"]) ? item["action"] : parsed(given);
  if (name === "apply_patch") {
    const changes = diffsOfPatch(textOrNothing(fields["input"]) ?? textOrNothing(fields["patch"]) ?? given, longest);
    if (changes) return { type: "patch", ...OPEN, changes };
  }
  if (SHELLS.has(name)) return shownCommand(fields, longest);
  if (name === "update_plan") return { type: "plan", ...OPEN, plan: planOf(fields) };
  if (name === "view_image") return { type: "image", ...OPEN, path: textOrNothing(fields["path"]) ?? "" };
  if (name === "spawn_agent") {
    const { text: task, truncated } = beginning(textOrNothing(fields["message"]) ?? "", longest);
    const shown = { name: textOrNothing(fields["task_name"]) ?? "", task: task || null, result: null, tokens: null };
    return { type: "subAgent", ...OPEN, ...shown, ...(truncated && { truncated }) };
  }
  const { server, tool } = toolOfServer(name);
  const shown = Object.keys(fields).length > 0 ? fields : beginning(given, longest).text;
  return {
    type: "toolCall",
    ...OPEN,
    server: server ?? null,
    tool: tool ?? name,
    arguments: shown,
    result: null,
    error: null,
    durationMs: null,
  };
}

function shownCommand(fields: Fields, longest: number | undefined): ItemContent {
  const { command, cmd } = fields;
  const words = Array.isArray(command) ? command.filter((word) => typeof word === "string") : undefined;
  const script = textOrNothing(command) ?? textOrNothing(cmd) ?? "";
  const { text, truncated } = beginning(words ? commandTextOf(words) : script, longest);
  return {
    type: "command",
    ...OPEN,
    command: truncated || !words ? [text] : words,
    commandText: text,
    cwd: textOrNothing(fields["workdir"]) ?? textOrNothing(fields["working_directory"]) ?? null,
    exitCode: null,
    output: "",
    durationMs: null,
    ...(truncated && { truncated }),
  };
}

/** `mcp__SERVER__TOOL` is how models name the tools of MCP servers. */
function toolOfServer(name: string): { readonly server?: string; readonly tool?: string } {
  const at = name.startsWith(MCP) ? name.indexOf("__", MCP.length + 1) : -1;
  const tool = name.slice(at + 2);
  return at < 0 || tool === "" ? {} : { server: name.slice(MCP.length, at), tool };
}

/** The call with its output. */
export function withOutput(item: TimelineItem, given: string, longest: number | undefined): TimelineItem {
  const { output, exitCode, durationMs, declined } = readOutput(given);
  switch (item.type) {
    case "command": {
      const { text, truncated } = ending(output, longest);
      const status = declined ? "declined" : (exitCode ?? 0) === 0 ? "completed" : "failed";
      return { ...item, status, output: text, exitCode, durationMs, ...(truncated && { truncated }) };
    }
    case "patch":
      return { ...item, status: declined ? "declined" : exitCode === 0 || output.startsWith("Success") ? "completed" : "failed" };
    case "toolCall":
      return { ...item, status: "completed", result: beginning(given, longest).text };
    default:
      return { ...item, status: "completed" };
  }
}

function planOf({ explanation, plan }: Fields): PlanSteps {
  const steps = (Array.isArray(plan) ? plan : []).flatMap((entry: unknown) => {
    const { step, status } = isFields(entry) ? entry : {};
    if (typeof step !== "string") return [];
    return [{ step, status: status === "completed" || status === "in_progress" ? status : "pending" } as const];
  });
  return { explanation: textOrNothing(explanation) ?? null, steps };
}

function parsed(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
