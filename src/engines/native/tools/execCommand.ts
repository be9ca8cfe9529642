import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import * as z from "zod/mini";
import type { CommandStarter } from "../../../exec/launch.js";
import { formattedOutput, HeadAndTail, sessionAnswer, withLineCount } from "../../../exec/output.js";
import { outputText } from "../../../exec/outputText.js";
import { openBashReader, patchCall } from "../../../exec/safety/bash/reader.js";
import { isSandboxDenial, retryAfterDenial } from "../../../exec/safety/judge/assess.js";
import { onTerminal, type SessionReport, startYieldMs, writeYieldMs } from "../../../exec/session.js";
import { AppError, describe } from "../../../lib/errors.js";
import { Mailbox } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall } from "../../../threads/items.js";
import { patchThroughShell } from "./applyPatch.js";
import {
  type DetachedCommand,
  type LeftCommand,
  type LeftCommands,
  showLateEnd,
  showLateOutput,
  shownExitCode,
  takeEnds,
} from "./detachedCommand.js";
import { type HostEnvironment, userShell } from "./hostEnvironment.js";
import {
  type CommandRequest,
  execFailure,
  forbiddenByRules,
  judge,
  type Permission,
  questionOfRetry,
  refuse,
  unannouncedRefusal,
  workingFolder,
} from "./shell.js";
import { type RecordedStruct, readArguments, type Tool, type ToolContext, type ToolRun } from "./tool.js";
import type { ToolRuntime } from "./toolRuntime.js";

const DEFAULT_OUTPUT_TOKENS = 10_000;

const Amount = z.optional(z.nullable(z.number().check(z.nonnegative())));

const ExecArguments = z.object({
  cmd: z.string(),
  workdir: z.optional(z.nullable(z.string())),
  shell: z.optional(z.nullable(z.string())),
  login: z.optional(z.nullable(z.boolean())),
  tty: z.optional(z.nullable(z.boolean())),
  yield_time_ms: Amount,
  max_output_tokens: Amount,
  sandbox_permissions: z.optional(z.nullable(z.enum(["use_default", "require_escalated"]))),
  justification: z.optional(z.nullable(z.string())),
});

const WriteArguments = z.object({
  session_id: z.number().check(z.gte(-(2 ** 31)), z.lt(2 ** 31)),
  chars: z.optional(z.nullable(z.string())),
  yield_time_ms: Amount,
  max_output_tokens: Amount,
});

const SHOWN_FIELDS = ["yield_time_ms", "max_output_tokens"];
const EXEC_COMMAND: RecordedStruct = {
  name: "ExecCommandArgs",
  fields: ["cmd", "workdir", "shell", "login", "tty", ...SHOWN_FIELDS, "sandbox_permissions", "justification"],
};
const WRITE_STDIN: RecordedStruct = { name: "WriteStdinArgs", fields: ["session_id", "chars", ...SHOWN_FIELDS] };

/** `exec_command` and `write_stdin`: commands that may outlive the call that started them. */
export function execTools(runtime: ToolRuntime): Tool[] {
  const running: LeftCommands = new Map();
  if (!runtime.settings.asRecorded) runtime.takeEnds = () => takeEnds(running, runtime);
  return [
    { name: "exec_command", run: (args, ctx) => execCommand(args, { runtime, running, ctx }) },
    { name: "write_stdin", run: (args, ctx) => writeStdin(args, { runtime, running, ctx }) },
  ];
}

interface ExecContext {
  readonly runtime: ToolRuntime;
  readonly running: LeftCommands;
  readonly ctx: ToolContext;
}

async function* execCommand(args: string, context: ExecContext): ToolRun {
  const read = readArguments(args, ExecArguments, context.ctx, EXEC_COMMAND);
  if ("complaint" in read) return { output: read.complaint };
  const { runtime, ctx } = context;
  const { cmd, workdir, shell, login, justification } = read.value;
  const request: CommandRequest = {
    tool: "exec_command",
    argv: [shellFor(shell, runtime.host), login === false ? "-c" : "-lc", cmd],
    ...workingFolder(workdir || undefined, runtime),
    escalated: read.value.sandbox_permissions === "require_escalated",
    justification: justification ?? undefined,
    sessionId: runtime.sessions.reserve(),
  };
  const patch = patchCall(request.argv, await openBashReader(request.argv));
  const forbidden = patch && (await forbiddenByRules(request.argv, runtime));
  if (forbidden !== undefined) return { output: forbidden };
  if (patch) return yield* patchThroughShell(patch, request, { runtime, ctx });
  if (ctx.asRecorded && !runtime.files.seesFolder(request.cwd))
    return { output: execFailure("Failed to create unified exec process: No such file or directory (os error 2)") };
  const argv = read.value.tty ? onTerminal(request.argv) : request.argv;
  const cwd = (ctx.asRecorded ? request.writtenCwd : undefined) ?? request.cwd;
  await using starter = runtime.starter(argv, { cwd, plainOutput: true });
  const outcome = yield* judge(request, starter, { runtime, ctx });
  if ("refusal" in outcome) return outcome.refusal;
  const { judged, permission, unannounced } = outcome;
  const { command } = judged;
  const starting = { ...context, starter, command, unannounced };
  let attempt = yield* start(read.value, { ...starting, sandboxed: permission.sandboxed });
  if (wasStopped(attempt, permission, context)) {
    const refusal = await questionOfRetry(judged, permission);
    if (refusal) return attempt.unannounced ? unannouncedRefusal(refusal) : yield* refuse(refusal, command);
    attempt = yield* start(read.value, { ...starting, unannounced: attempt.unannounced, sandboxed: false });
  }
  if ("failure" in attempt) return yield* refuse({ refused: attempt.failure, neverStarted: true }, command);
  if (attempt.unannounced) yield [attempt.unannounced];
  const { report, seen } = attempt;
  const most = read.value.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS;
  const recordedEnd = ctx.asRecorded ? endAsRecorded(report.output, { seen, most }) : undefined;
  return yield* answer(report, most, { runtime, command, ...(recordedEnd !== undefined && { shownAtEnd: recordedEnd }) });
}

const SHELLS = ["bash", "zsh", "sh"];
const PLAIN_SHELL = "/bin/sh";

/** The shell that the model named, where it is installed. A shell that is missing or unknown is replaced by the plain one, as in Codex. */
function shellFor(named: string | null | undefined, { env, outside }: Pick<HostEnvironment, "env" | "outside">): string {
  const own = userShell(env);
  if (named === null || named === undefined) return own;
  const kind = path.basename(named);
  if (!SHELLS.includes(kind)) return PLAIN_SHELL;
  if (path.isAbsolute(named) && existsSync(named)) return named;
  return path.basename(own) === kind ? own : (outside.find(kind) ?? PLAIN_SHELL);
}

interface Starting extends ExecContext {
  readonly starter: CommandStarter;
  readonly command: CommandCall;
  readonly sandboxed: boolean;
  /** The event of the command's start. It is shown once it is known that the sandbox did not stop the command at once. */
  readonly unannounced: ThreadEvent | undefined;
}

type Attempt = ({ readonly report: SessionReport; readonly seen: HeadAndTail } | { readonly failure: string }) &
  Pick<Starting, "unannounced">;

/** Runs the command for as long as the call waits. If it could not run at all, the model gets the reason. */
async function* start(args: z.infer<typeof ExecArguments>, starting: Starting): AsyncGenerator<readonly ThreadEvent[], Attempt> {
  const { runtime, ctx, starter, command, sandboxed } = starting;
  const output = new Mailbox<ThreadEvent>();
  const seen = new HeadAndTail();
  const running: DetachedCommand = { command, turnId: runtime.turnId, onTerminal: args.tty === true, seen };
  let isCalled = true;
  let { unannounced } = starting;
  const announce = () => {
    if (unannounced) output.put(unannounced);
    unannounced = undefined;
  };
  const timer = setTimeout(announce, UNSEEN_MS);
  try {
    const launch = await starter.launch({ sandboxed });
    const startedAt = performance.now();
    const show = (stream: "stdout" | "stderr", bytes: Buffer) => {
      if (ctx.asRecorded && performance.now() - startedAt < UNSEEN_MS) return;
      announce();
      seen.push(bytes);
      if (ctx.asRecorded && !isCalled) return showLateOutput(bytes, running, runtime);
      output.put({ type: "commandOutput", callId: ctx.callId, stream, bytes });
    };
    const started = runtime.sessions
      .start(launch, {
        ...(command.sessionId !== undefined && { sessionId: command.sessionId }),
        yieldTimeMs: startYieldMs(args.yield_time_ms ?? undefined),
        signal: ctx.signal,
        stdin: args.tty ? "pipe" : "none",
        onOutput: show,
        endsAtOnce: ctx.asRecorded,
      })
      .finally(() => {
        clearTimeout(timer);
        isCalled = false;
        output.close();
      });
    // Awaited below; a failure meanwhile must not count as unhandled.
    started.catch(() => undefined);
    yield* output.batches();
    const { report, finished } = await started;
    if (report.sessionId !== undefined) {
      const left: LeftCommand = { ...running, sandboxed, startedAt };
      starting.running.set(report.sessionId, left);
      finished.then(
        (end) => {
          left.end = end;
        },
        // Such a command has no exit code.
        () => undefined,
      );
      // Ends soon after the command, whose end the sessions wait for.
      if (ctx.asRecorded) void showLateEnd(finished, running, runtime);
    }
    if (unannounced && !isDenied(report, { sandboxed })) {
      yield [unannounced];
      unannounced = undefined;
    }
    return { report, seen, unannounced };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (unannounced) yield [unannounced];
    return { failure: `execution error: ${describe(error)}`, unannounced: undefined };
  } finally {
    clearTimeout(timer);
  }
}

function isDenied({ exitCode, output }: SessionReport, { sandboxed }: Pick<Starting, "sandboxed">): boolean {
  return sandboxed && exitCode !== undefined && isSandboxDenial({ exitCode, stdout: "", stderr: "", aggregated: output });
}

/** The sandbox stopped the command, and the policy lets a person allow it without one. Codex 0.92.0 asked only if it was stopped at once. */
function wasStopped(attempt: Attempt, permission: Permission, { runtime, ctx }: ExecContext): boolean {
  if ("failure" in attempt || !isDenied(attempt.report, permission)) return false;
  if (ctx.asRecorded && !attempt.unannounced) return false;
  return retryAfterDenial(runtime.settings.approvalPolicy) === "ask";
}

/** Codex 0.92.0 showed no output of the first 150 ms, in which it waited for a refusal of the sandbox. Ours takes longer to start. */
const UNSEEN_MS = 300;

/** The output in the event of a command's end, as in Codex 0.92.0: the output that was shown or, if none was, the output that the model gets. */
function endAsRecorded(output: string, { seen, most }: { readonly seen: HeadAndTail; readonly most: number }): string {
  const bytes = seen.bytes();
  return bytes.length > 0 ? outputText(bytes) : withLineCount(output, { unit: "tokens", limit: most });
}

async function* writeStdin(args: string, { runtime, running, ctx }: ExecContext): ToolRun {
  const read = readArguments(args, WriteArguments, ctx, WRITE_STDIN);
  if ("complaint" in read) return { output: read.complaint };
  const { session_id: id, chars, yield_time_ms: yieldTimeMs, max_output_tokens: tokens } = read.value;
  const left = running.get(id);
  // A shell may execute the input as a script. For other programs a refusal does no harm.
  const forbidden = chars ? await forbiddenByRules(["bash", "-c", chars], runtime) : undefined;
  if (forbidden !== undefined) return { output: `write_stdin failed: ${forbidden}` };
  // An earlier turn may have had rights that this one does not have.
  if (runtime.confined && left?.sandboxed === false) return { output: `write_stdin failed: process ${id} runs outside the sandbox` };
  try {
    if (left && !left.isShown) yield [{ type: "commandResumed", callId: left.command.callId }];
    const wait = { yieldTimeMs: writeYieldMs(yieldTimeMs ?? undefined, chars ?? ""), signal: ctx.signal };
    const report = await runtime.sessions.write(id, chars ?? "", wait);
    if (report.exitCode !== undefined) running.delete(id);
    const most = tokens ?? DEFAULT_OUTPUT_TOKENS;
    if (!ctx.asRecorded || !left) return yield* answer(report, most, { runtime, command: left?.isShown ? undefined : left?.command });
    const typed: ThreadEvent = { type: "commandTyped", callId: left.command.callId, sessionId: id, typed: chars ?? "" };
    yield [...runtime.lateEvents.take(), typed];
    const exitCode = report.exitCode === undefined ? undefined : shownExitCode(report.exitCode, left);
    return yield* answer({ ...report, exitCode }, most, { runtime, command: undefined });
  } catch (error) {
    if (error instanceof AppError) return { output: `write_stdin failed: ${describe(error)}` };
    throw error;
  }
}

async function* answer(
  report: SessionReport,
  maxOutputTokens: number,
  about: { runtime: ToolRuntime; command: CommandCall | undefined; shownAtEnd?: string },
): ToolRun {
  const { output, wallTimeMs, exitCode, sessionId } = report;
  if (exitCode !== undefined && about.command) {
    const text = about.shownAtEnd ?? output;
    const result = { aggregatedOutput: text, exitCode, durationMs: wallTimeMs, ended: "exited" as const };
    const shown = {
      stdout: text,
      stderr: "",
      aggregatedOutput: text,
      formattedOutput: formattedOutput(result, about.runtime.truncation),
    };
    yield [{ type: "commandEnded", ...about.command, ...shown, exitCode, durationMs: wallTimeMs }];
  }
  return { output: sessionAnswer({ output, wallTimeMs, chunkId: randomBytes(3).toString("hex"), exitCode, sessionId, maxOutputTokens }) };
}
