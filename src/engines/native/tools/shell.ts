// Long because the decision whether a command may run, and how, is followed by its run, and sometimes by a second one.
import path from "node:path";
import * as z from "zod/mini";
import { denialText, isDeniedByPerson } from "../../../approvals/denials.js";
import type { ApprovalSubject } from "../../../approvals/model.js";
import { WorkingFolderMissing } from "../../../exec/errors.js";
import type { CommandStarter, Launch } from "../../../exec/launch.js";
import { abortedAnswer, formattedOutput, shellAnswer, shellCommandAnswer } from "../../../exec/output.js";
import { type CommandResult, runCommand } from "../../../exec/run.js";
import { openBashReader, patchCall } from "../../../exec/safety/bash/reader.js";
import { shellQuote } from "../../../exec/safety/bash/words.js";
import {
  assessCommand,
  type CommandVerdict,
  forbiddenRefusal,
  isSandboxDenial,
  RETRY_REASON,
  retryAfterDenial,
} from "../../../exec/safety/judge/assess.js";
import { parsedCommand } from "../../../exec/safety/judge/parsedCommand.js";
import { AppError, describe } from "../../../lib/errors.js";
import { Mailbox } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall } from "../../../threads/items.js";
import { patchThroughShell } from "./applyPatch.js";
import { userShell } from "./hostEnvironment.js";
import { type RecordedStruct, readArguments, type Tool, type ToolContext, type ToolResult, type ToolRun } from "./tool.js";
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

const LATER_FIELDS = ["timeout_ms", "sandbox_permissions", "justification"];
const SHELL: RecordedStruct = { name: "ShellToolCallParams", fields: ["command", "workdir", ...LATER_FIELDS] };
const SHELL_COMMAND: RecordedStruct = { name: "ShellCommandToolCallParams", fields: ["command", "workdir", "login", ...LATER_FIELDS] };

/** `shell`: a program and its arguments. Models trained on another name for it may use that. */
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
  const read = readArguments(args, ShellArguments, ctx, SHELL);
  if ("complaint" in read) return { output: read.complaint };
  const call = { ...common(read.value, runtime), tool, argv: read.value.command };
  return yield* run({ ...call, answer: (result) => shellAnswer(result, runtime.truncation) }, runtime, ctx);
}

async function* runScript(args: string, runtime: ToolRuntime, ctx: ToolContext): ToolRun {
  const read = readArguments(args, ShellCommandArguments, ctx, SHELL_COMMAND);
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
): Pick<ShellCall, "cwd" | "writtenCwd" | "timeoutMs" | "escalated" | "justification"> {
  return {
    ...workingFolder(args.workdir, runtime),
    timeoutMs: args.timeout_ms ?? args.timeout ?? DEFAULT_TIMEOUT_MS,
    escalated: args.sandbox_permissions === "require_escalated",
    justification: args.justification ?? undefined,
  };
}

/** Where a command runs, and how Codex 0.92.0 showed it: the paths joined, without resolving `..`. */
export function workingFolder(
  workdir: string | null | undefined,
  { settings: { cwd } }: Pick<ToolRuntime, "settings">,
): Pick<CommandRequest, "cwd" | "writtenCwd"> {
  if (workdir === undefined || workdir === null) return { cwd };
  const writtenCwd = path.isAbsolute(workdir) ? workdir : `${cwd.replace(/\/$/, "")}/${workdir}`;
  return { cwd: path.resolve(cwd, workdir), writtenCwd };
}

interface ShellCall extends CommandRequest {
  readonly timeoutMs: number;
  /** Formats the result for this tool. */
  readonly answer: (result: CommandResult) => string;
}

/** One command of the model: assessed, run, and run again outside the sandbox if approved. */
async function* runShell(call: ShellCall, runtime: ToolRuntime, ctx: ToolContext): ToolRun {
  await using starter = runtime.starter(call.argv, { cwd: call.cwd, endsInCall: true });
  const outcome = yield* judge(call, starter, { runtime, ctx });
  if ("refusal" in outcome) return outcome.refusal;
  const { judged, permission } = outcome;
  const first = yield* attempt(call, judged, () => starter.launch(permission));
  if ("failure" in first) return yield* refuse({ refused: first.failure, neverStarted: true }, judged.command);
  if (!needsRetry(first.result, permission, runtime)) return yield* finish(first.result, call, judged);
  const refusal = await questionOfRetry(judged, permission);
  if (refusal) return yield* refuse(refusal, judged.command);
  const second = yield* attempt(call, judged, () => starter.launch({ sandboxed: false }));
  return "failure" in second ? yield* refuse({ refused: second.failure }, judged.command) : yield* finish(second.result, call, judged);
}

function needsRetry(result: CommandResult, { sandboxed }: Permission, runtime: ToolRuntime): boolean {
  const denied = sandboxed && result.ended === "exited" && isSandboxDenial({ ...result, aggregated: result.aggregatedOutput });
  return denied && retryAfterDenial(runtime.settings.approvalPolicy) === "ask";
}

type Attempt = { readonly result: CommandResult } | { readonly failure: string };

/** Runs the command and shows its output as it arrives. If it could not run at all, the model gets the reason. */
async function* attempt(
  call: ShellCall,
  { ctx }: JudgedCommand,
  launch: () => Promise<Launch>,
): AsyncGenerator<readonly ThreadEvent[], Attempt> {
  if (call.argv.length === 0) return { failure: "command args are empty" };
  if (ctx.asRecorded && call.timeoutMs === 0) return { result: KILLED_BEFORE_IT_BEGAN };
  const output = new Mailbox<ThreadEvent>();
  try {
    const running = runCommand(await launch(), {
      timeoutMs: call.timeoutMs,
      endsAtOnce: ctx.asRecorded,
      signal: ctx.signal,
      onOutput: (stream, bytes) => output.put({ type: "commandOutput", callId: ctx.callId, stream, bytes }),
    });
    const result = running.result.finally(() => output.close());
    // Awaited below; a failure meanwhile must not count as unhandled.
    result.catch(() => undefined);
    yield* output.batches();
    return { result: await result };
  } catch (error) {
    if (error instanceof AppError) return { failure: executionError(error, ctx) };
    throw error;
  }
}

/** Codex 0.92.0 starts a command with a time limit of 0 and kills it at once. Here it is not started. */
const KILLED_BEFORE_IT_BEGAN: CommandResult = {
  ended: "timedOut",
  exitCode: 124,
  stdout: "",
  stderr: "",
  aggregatedOutput: "",
  omittedBytes: 0,
  durationMs: 0,
};

/** The model's result of a command that could not be started. */
function executionError(error: AppError, { asRecorded }: Pick<ToolContext, "asRecorded">): string {
  if (!asRecorded || !(error instanceof WorkingFolderMissing)) return `execution error: ${describe(error)}`;
  const [code, kind, text] = error.isOther ? [20, "NotADirectory", "Not a directory"] : [2, "NotFound", "No such file or directory"];
  return `execution error: Io(Os { code: ${code}, kind: ${kind}, message: "${text}" })`;
}

async function* finish(result: CommandResult, call: ShellCall, { command, runtime }: JudgedCommand): ToolRun {
  if (result.ended === "cancelled") return { output: abortedAnswer(result.durationMs) };
  const { stdout, stderr, aggregatedOutput, exitCode, durationMs } = result;
  const shown = { stdout, stderr, aggregatedOutput, formattedOutput: formattedOutput(result, runtime.truncation) };
  yield [{ type: "commandEnded", ...command, ...shown, exitCode, durationMs }];
  return { output: call.answer(result) };
}

/** The command requested by the model. */
export interface CommandRequest {
  /** The called tool; the wording of one refusal depends on it. */
  readonly tool: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The folder as the model wrote it. */
  readonly writtenCwd?: string;
  readonly escalated: boolean;
  readonly justification?: string | undefined;
  /** The id of its session. */
  readonly sessionId?: number;
}

const REJECTED = "exec command rejected by user";

/** A command that has been assessed but not run yet. */
export interface JudgedCommand {
  readonly call: CommandRequest;
  readonly command: CommandCall;
  readonly runtime: ToolRuntime;
  readonly ctx: ToolContext;
}

export interface Permission {
  readonly sandboxed: boolean;
  readonly proposedPrefix?: readonly string[];
}

/** Assesses a command, announces it, and asks for approval if required. A command that needs no approval is prepared meanwhile. */
export async function* judge(
  call: CommandRequest,
  starter: CommandStarter,
  { runtime, ctx }: Pick<JudgedCommand, "runtime" | "ctx">,
): AsyncGenerator<
  readonly ThreadEvent[],
  | { readonly refusal: ToolResult }
  /** `unannounced`: the event of its start, which has not been shown. */
  | { readonly judged: JudgedCommand; readonly permission: Permission; readonly unannounced?: ThreadEvent }
> {
  // The workspace is searched while the command is assessed and recorded.
  runtime.files.beginLookingAround();
  const parser = await openBashReader(call.argv);
  const verdict = assessCommand({
    argv: call.argv,
    escalated: call.escalated,
    ...(call.justification === undefined ? {} : { justification: call.justification }),
    tool: call.tool,
    approvalPolicy: runtime.settings.approvalPolicy,
    sandboxPolicy: runtime.settings.sandboxPolicy,
    rules: runtime.rules.inForce(),
    sandboxEnforced: await runtime.isSandboxEnforced(),
    confined: runtime.confined,
    asRecorded: ctx.asRecorded,
    parser,
    trusts: await runtime.trustedPrograms(call.argv, call.cwd),
  });
  if (verdict.kind === "refuse" && verdict.unannounced) return { refusal: { output: verdict.text } };
  const { argv, sessionId } = call;
  const cwd = (ctx.asRecorded ? call.writtenCwd : undefined) ?? call.cwd;
  const session = sessionId === undefined ? {} : { sessionId };
  const command: CommandCall = { callId: ctx.callId, ...session, command: argv, cwd, parsed: parsedCommand(argv, parser) };
  const judged: JudgedCommand = { call, command, runtime, ctx };
  const asks = verdict.kind === "ask" && !isApproved(judged, { staysInSandbox: verdict.sandboxedAfterwards });
  const onlyLooks = runtime.onlyLooks(call, parser);
  const started: ThreadEvent = {
    type: "commandStarted",
    ...command,
    ...(asks && { awaitsApproval: true as const }),
    ...(onlyLooks && { onlyLooks: true as const }),
  };
  // Codex 0.92.0 showed these commands only once they ran.
  const isShownLate = ctx.asRecorded && call.tool === "exec_command";
  if (verdict.kind === "run") starter.prepare(verdict, { after: onlyLooks ? undefined : ctx.beforeChanges });
  if (!isShownLate) yield [started];
  const permission: Permission | Refusal =
    verdict.kind === "refuse" ? { ...lacking(verdict), refused: verdict.text, declined: true } : await permit(verdict, judged);
  if (isShownLate && "refused" in permission) return { refusal: unannouncedRefusal(permission) };
  if ("refused" in permission) return { refusal: yield* refuse(permission, command) };
  return { judged, permission, ...(isShownLate && { unannounced: started }) };
}

/** How Codex 0.92.0 told its model that `exec_command` was refused; it showed nothing of the command. */
export function unannouncedRefusal({ refused, endsTurn }: Refusal): ToolResult {
  const output = execFailure(refused.replace(/^exec command /, ""));
  return endsTurn ? { output, endsTurn } : { output };
}

/** How Codex 0.92.0 told its model that `exec_command` ran nothing. */
export function execFailure(why: string): string {
  return `exec_command failed: CreateProcess { message: ${JSON.stringify(`Rejected(${JSON.stringify(why)})`)} }`;
}

/** The refusal of a command that the user's rules forbid, for commands that are not assessed otherwise. */
export async function forbiddenByRules(argv: readonly string[], runtime: ToolRuntime): Promise<string | undefined> {
  return forbiddenRefusal({ argv, rules: runtime.rules.inForce(), parser: await openBashReader(argv) });
}

interface Refusal {
  readonly refused: string;
  /** A rule or the server's ceiling refused it, and nobody was asked. */
  readonly declined?: true;
  /** Not a refusal: it could not be started. */
  readonly neverStarted?: true;
  readonly endsTurn?: true;
  /** Not a refusal: it did not run because no sandbox works here. */
  readonly lacksSandbox?: true;
}

function lacking({ lacksSandbox }: { readonly lacksSandbox?: true }): { readonly lacksSandbox?: true } {
  return lacksSandbox ? { lacksSandbox } : {};
}

async function permit(verdict: Exclude<CommandVerdict, { kind: "refuse" }>, judged: JudgedCommand): Promise<Permission | Refusal> {
  const prefix = verdict.proposedPrefix === undefined ? {} : { proposedPrefix: verdict.proposedPrefix };
  if (verdict.kind === "run") return { sandboxed: verdict.sandboxed, ...prefix };
  const sandboxed = verdict.sandboxedAfterwards;
  const refusal = await question(judged, {
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    ...prefix,
    staysInSandbox: sandboxed,
    needsPerson: verdict.needsPerson,
    ...lacking(verdict),
  });
  return refusal ?? { sandboxed, ...prefix };
}

type Asked = Pick<ApprovalSubject, "reason" | "staysInSandbox" | "needsPerson" | "lacksSandbox"> & {
  readonly proposedPrefix?: readonly string[];
};

/** Undefined when approved, now or for the rest of the thread. An approval inside the sandbox does not apply outside it. */
async function question(judged: JudgedCommand, asked: Asked): Promise<Refusal | undefined> {
  const { call, command, runtime, ctx } = judged;
  if (isApproved(judged, asked)) return undefined;
  const { callId, cwd, parsed } = command;
  const words = { command: command.command, commandText: shellQuote(command.command) };
  // Codex 0.92.0 offered no amendment of rules that it did not apply.
  const withoutRules = ctx.asRecorded && runtime.settings.features["exec_policy"] === false;
  const { proposedPrefix: _, ...withoutPrefix } = asked;
  const decision = await ctx.ask({ kind: "command", callId, ...words, cwd, parsed, ...(withoutRules ? withoutPrefix : asked) });
  switch (decision.kind) {
    case "approved":
      return undefined;
    case "approvedForSession":
      runtime.approved.add(approvalKey(call, asked));
      return undefined;
    case "approvedPrefix":
      runtime.rules.allow(decision.prefix);
      return undefined;
    case "denied":
      return {
        refused: denialText("exec command", decision),
        ...(asked.needsPerson || isDeniedByPerson(decision) ? {} : lacking(asked)),
        ...(decision.by === "ceiling" && { declined: true }),
      };
    case "abort":
      return { refused: REJECTED, endsTurn: true };
    case "answered":
      return { refused: `${REJECTED}: the answer does not say whether it may run` };
  }
}

/** Whether a command that the sandbox stopped may run again without it. It counts as one that ran, even if it may not. */
export async function questionOfRetry(judged: JudgedCommand, { proposedPrefix }: Permission): Promise<Refusal | undefined> {
  const prefix = proposedPrefix === undefined ? {} : { proposedPrefix };
  const refusal = await question(judged, { reason: RETRY_REASON, ...prefix, staysInSandbox: false, needsPerson: false });
  if (!refusal?.declined) return refusal;
  const { declined: _, ...rest } = refusal;
  return rest;
}

/** Ends a command that was announced and did not run. */
export async function* refuse({ refused: text, endsTurn, ...cause }: Refusal, command: CommandCall): ToolRun {
  const told = { stdout: "", stderr: text, aggregatedOutput: text, formattedOutput: text };
  yield [{ type: "commandEnded", ...command, ...told, ...cause, exitCode: -1, durationMs: 0 }];
  return endsTurn ? { output: text, endsTurn } : { output: text };
}

/** Approved for the rest of the thread by an earlier answer. */
function isApproved({ call, runtime }: JudgedCommand, asked: Pick<Asked, "staysInSandbox">): boolean {
  return runtime.approved.has(approvalKey(call, asked));
}

function approvalKey({ argv, cwd }: CommandRequest, { staysInSandbox }: Pick<Asked, "staysInSandbox">): string {
  return JSON.stringify([argv, cwd, staysInSandbox]);
}
