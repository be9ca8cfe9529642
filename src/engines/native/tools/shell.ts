import path from "node:path";
import * as z from "zod/mini";
import { abortedAnswer, formattedOutput, shellAnswer, shellCommandAnswer } from "../../../exec/output.js";
import { type CommandResult, runCommand } from "../../../exec/run.js";
import { openBashReader, patchCall } from "../../../exec/safety/bash/reader.js";
import { isSandboxDenial, RETRY_REASON, retryAfterDenial } from "../../../exec/safety/judge/assess.js";
import { AppError, describe } from "../../../lib/errors.js";
import { Mailbox } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { patchThroughShell } from "./applyPatch.js";
import { type CommandRequest, forbiddenByRules, type JudgedCommand, judge, type Permission, question, refuse } from "./judge.js";
import { readArguments, type Tool, type ToolContext, type ToolRun } from "./tool.js";
import type { ToolRuntime } from "./toolRuntime.js";

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
export function shellTools(runtime: ToolRuntime): Tool[] {
  const called = (tool: string) => (args: string, ctx: ToolContext) => runArgv(args, tool, runtime, ctx);
  return [
    { name: "shell", run: called("shell") },
    { name: "container.exec", run: called("shell") },
    { name: "local_shell", run: called("local_shell") },
  ];
}

/** `shell_command`: a script for the user's shell. */
export function shellCommandTool(runtime: ToolRuntime): Tool {
  return { name: "shell_command", run: (args, ctx) => runScript(args, runtime, ctx) };
}

async function* runArgv(args: string, tool: string, runtime: ToolRuntime, ctx: ToolContext): ToolRun {
  const read = readArguments(args, ShellArguments, ctx);
  if ("complaint" in read) return { output: read.complaint };
  const call = { ...common(read.value, runtime), tool, argv: read.value.command };
  return yield* run({ ...call, answer: (result) => shellAnswer(result, runtime.truncation) }, runtime, ctx);
}

async function* runScript(args: string, runtime: ToolRuntime, ctx: ToolContext): ToolRun {
  const read = readArguments(args, ShellCommandArguments, ctx);
  if ("complaint" in read) return { output: read.complaint };
  const { command, login } = read.value;
  const argv = [userShell(runtime.host.env), login === false ? "-c" : "-lc", command];
  const call = { ...common(read.value, runtime), tool: "shell_command", argv };
  return yield* run({ ...call, answer: (result) => shellCommandAnswer(result, runtime.truncation) }, runtime, ctx);
}

/** A shell call that is really a patch is applied in this process instead. */
async function* run(call: ShellCall, runtime: ToolRuntime, ctx: ToolContext): ToolRun {
  const patch = patchCall(call.argv, await openBashReader(call.argv));
  if (!patch) return yield* runShell(call, runtime, ctx);
  const forbidden = await forbiddenByRules(call.argv, runtime);
  if (forbidden !== undefined) return { output: forbidden };
  return yield* patchThroughShell(patch, { cwd: call.cwd, tool: call.tool }, { runtime, ctx });
}

function common(
  args: z.infer<z.ZodMiniObject<typeof COMMON>>,
  runtime: ToolRuntime,
): Pick<ShellCall, "cwd" | "timeoutMs" | "escalated" | "justification"> {
  return {
    cwd: path.resolve(runtime.settings.cwd, args.workdir ?? ""),
    timeoutMs: args.timeout_ms ?? args.timeout ?? DEFAULT_TIMEOUT_MS,
    escalated: args.sandbox_permissions === "require_escalated",
    justification: args.justification ?? undefined,
  };
}

export function userShell(env: NodeJS.ProcessEnv): string {
  return env["SHELL"] || "/bin/bash";
}

interface ShellCall extends CommandRequest {
  readonly timeoutMs: number;
  /** How this tool words what came out. */
  readonly answer: (result: CommandResult) => string;
}

/** One command from the model: judged, run, and run again outside the sandbox where somebody allows it. */
async function* runShell(call: ShellCall, runtime: ToolRuntime, ctx: ToolContext): ToolRun {
  const outcome = yield* judge(call, runtime, ctx);
  if ("refusal" in outcome) return outcome.refusal;
  const { judged, permission } = outcome;
  const first = yield* attempt(call, judged, permission.sandboxed);
  if ("failure" in first) return yield* refuse({ refused: first.failure }, judged.command);
  if (!needsRetry(first.result, permission, runtime)) return yield* finish(first.result, call, judged);
  const prefix = permission.proposedPrefix === undefined ? {} : { proposedPrefix: permission.proposedPrefix };
  const refusal = await question(judged, { reason: RETRY_REASON, ...prefix, staysInSandbox: false, needsPerson: false });
  if (refusal) return yield* refuse(refusal, judged.command);
  const second = yield* attempt(call, judged, false);
  return "failure" in second ? yield* refuse({ refused: second.failure }, judged.command) : yield* finish(second.result, call, judged);
}

function needsRetry(result: CommandResult, { sandboxed }: Permission, runtime: ToolRuntime): boolean {
  const denied = sandboxed && result.ended === "exited" && isSandboxDenial({ ...result, aggregated: result.aggregatedOutput });
  return denied && retryAfterDenial(runtime.settings.approvalPolicy) === "ask";
}

type Attempt = { readonly result: CommandResult } | { readonly failure: string };

/** Runs the command and shows its output as it comes. What kept it from running at all is told to the model. */
async function* attempt(
  call: ShellCall,
  { runtime, ctx }: JudgedCommand,
  sandboxed: boolean,
): AsyncGenerator<readonly ThreadEvent[], Attempt> {
  if (call.argv.length === 0) return { failure: "command args are empty" };
  const output = new Mailbox<ThreadEvent>();
  try {
    const launch = await runtime.launch(call.argv, { cwd: call.cwd, sandboxed });
    const running = runCommand(launch, {
      timeoutMs: call.timeoutMs,
      signal: ctx.signal,
      onOutput: (stream, bytes) => output.put({ type: "commandOutput", callId: ctx.callId, stream, bytes }),
    });
    const result = running.result.finally(() => output.close());
    // Awaited below; a failure meanwhile must not count as unhandled.
    result.catch(() => undefined);
    yield* output.batches();
    return { result: await result };
  } catch (error) {
    if (error instanceof AppError) return { failure: `execution error: ${describe(error)}` };
    throw error;
  }
}

async function* finish(result: CommandResult, call: ShellCall, { command, runtime }: JudgedCommand): ToolRun {
  if (result.ended === "cancelled") return { output: abortedAnswer(result.durationMs) };
  const { stdout, stderr, aggregatedOutput, exitCode, durationMs } = result;
  const shown = { stdout, stderr, aggregatedOutput, formattedOutput: formattedOutput(result, runtime.truncation) };
  yield [{ type: "commandEnded", ...command, ...shown, exitCode, durationMs }];
  return { output: call.answer(result) };
}
