import path from "node:path";
import * as z from "zod/mini";
import { shellAnswer, shellCommandAnswer } from "../../../exec/modelOutput.js";
import { openBashReader } from "../../../exec/safety/bash/parser.js";
import { patchCall } from "../../../exec/safety/bash/patchCall.js";
import { patchThroughShell } from "./applyPatch.js";
import { readArguments } from "./arguments.js";
import { forbiddenByRules } from "./judge.js";
import { runShell, type ShellCall } from "./runShell.js";
import type { Tool, ToolContext, ToolRun } from "./tool.js";
import type { Workbench } from "./workbench.js";

const DEFAULT_TIMEOUT_MS = 10_000;

const COMMON = {
  workdir: z.optional(z.nullable(z.string())),
  timeout_ms: z.optional(z.nullable(z.number().check(z.nonnegative()))),
  timeout: z.optional(z.nullable(z.number().check(z.nonnegative()))),
  sandbox_permissions: z.optional(z.nullable(z.enum(["use_default", "require_escalated"]))),
  justification: z.optional(z.nullable(z.string())),
};
const ShellArguments = z.object({ ...COMMON, command: z.array(z.string()) });
const ShellCommandArguments = z.object({ ...COMMON, command: z.string(), login: z.optional(z.nullable(z.boolean())) });

/** `shell`: a program and its arguments. Models that were trained on another name of it may use that. */
export function shellTools(bench: Workbench): Tool[] {
  const runThis = (args: string, ctx: ToolContext) => runArgv(args, bench, ctx);
  return [
    { name: "shell", run: runThis },
    { name: "container.exec", run: runThis },
    { name: "local_shell", run: runThis },
  ];
}

/** `shell_command`: a script for the user's shell. */
export function shellCommandTool(bench: Workbench): Tool {
  return { name: "shell_command", run: (args, ctx) => runScript(args, bench, ctx) };
}

async function* runArgv(args: string, bench: Workbench, ctx: ToolContext): ToolRun {
  const read = readArguments(args, ShellArguments);
  if ("complaint" in read) return { output: read.complaint };
  const call = { ...common(read.value, bench), tool: "shell", argv: read.value.command };
  return yield* run({ ...call, answer: (result) => shellAnswer(result, bench.truncation) }, bench, ctx);
}

async function* runScript(args: string, bench: Workbench, ctx: ToolContext): ToolRun {
  const read = readArguments(args, ShellCommandArguments);
  if ("complaint" in read) return { output: read.complaint };
  const { command, login } = read.value;
  const argv = [userShell(bench.machine.env), login === false ? "-c" : "-lc", command];
  const call = { ...common(read.value, bench), tool: "shell_command", argv };
  return yield* run({ ...call, answer: (result) => shellCommandAnswer(result, bench.truncation) }, bench, ctx);
}

/** A shell call that is really a patch is applied in this process instead. */
async function* run(call: ShellCall, bench: Workbench, ctx: ToolContext): ToolRun {
  const patch = patchCall(call.argv, await openBashReader(call.argv));
  if (!patch) return yield* runShell(call, bench, ctx);
  const forbidden = await forbiddenByRules(call.argv, bench);
  if (forbidden !== undefined) return { output: forbidden };
  return yield* patchThroughShell(patch, { cwd: call.cwd, tool: call.tool }, bench, ctx);
}

function common(
  args: z.infer<z.ZodMiniObject<typeof COMMON>>,
  bench: Workbench,
): Pick<ShellCall, "cwd" | "timeoutMs" | "escalated" | "justification"> {
  return {
    cwd: path.resolve(bench.settings.cwd, args.workdir ?? ""),
    timeoutMs: args.timeout_ms ?? args.timeout ?? DEFAULT_TIMEOUT_MS,
    escalated: args.sandbox_permissions === "require_escalated",
    justification: args.justification ?? undefined,
  };
}

export function userShell(env: NodeJS.ProcessEnv): string {
  return env["SHELL"] || "/bin/bash";
}
