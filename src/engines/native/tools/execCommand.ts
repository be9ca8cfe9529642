import { randomBytes } from "node:crypto";
import path from "node:path";
import * as z from "zod/mini";
import { formattedOutput, sessionAnswer } from "../../../exec/modelOutput.js";
import { patchCall } from "../../../exec/safety/patchCall.js";
import type { SessionReport } from "../../../exec/session.js";
import { onTerminal } from "../../../exec/terminal.js";
import { startYieldMs, writeYieldMs } from "../../../exec/yieldTime.js";
import { AppError, describe } from "../../../lib/errors.js";
import { Mailbox } from "../../../lib/mailbox.js";
import type { CommandCall, ThreadEvent } from "../../../threads/model.js";
import { patchThroughShell } from "./applyPatch.js";
import { readArguments } from "./arguments.js";
import { type CommandRequest, judge, refuse } from "./judge.js";
import { userShell } from "./shell.js";
import type { Tool, ToolContext, ToolRun } from "./tool.js";
import type { Workbench } from "./workbench.js";

const DEFAULT_OUTPUT_TOKENS = 10_000;

const ExecArguments = z.object({
  cmd: z.string(),
  workdir: z.optional(z.nullable(z.string())),
  shell: z.optional(z.nullable(z.string())),
  login: z.optional(z.nullable(z.boolean())),
  tty: z.optional(z.nullable(z.boolean())),
  yield_time_ms: z.optional(z.nullable(z.number())),
  max_output_tokens: z.optional(z.nullable(z.number())),
  sandbox_permissions: z.optional(z.nullable(z.enum(["use_default", "require_escalated"]))),
  justification: z.optional(z.nullable(z.string())),
});

const WriteArguments = z.object({
  session_id: z.number(),
  chars: z.optional(z.nullable(z.string())),
  yield_time_ms: z.optional(z.nullable(z.number())),
  max_output_tokens: z.optional(z.nullable(z.number())),
});

/** `exec_command` and `write_stdin`: commands that may go on after the call that started them. */
export function execTools(bench: Workbench): Tool[] {
  /** What was shown to begin and not yet to end. */
  const running = new Map<number, CommandCall>();
  return [
    { name: "exec_command", declaration: EXEC_COMMAND, run: (args, ctx) => execCommand(args, { bench, running, ctx }) },
    { name: "write_stdin", declaration: WRITE_STDIN, run: (args, ctx) => writeStdin(args, { bench, running, ctx }) },
  ];
}

interface Desk {
  readonly bench: Workbench;
  readonly running: Map<number, CommandCall>;
  readonly ctx: ToolContext;
}

async function* execCommand(args: string, desk: Desk): ToolRun {
  const read = readArguments(args, ExecArguments);
  if ("complaint" in read) return { output: read.complaint };
  const { bench, ctx } = desk;
  const { cmd, workdir, shell, login, justification } = read.value;
  const request: CommandRequest = {
    tool: "exec_command",
    argv: [shell ?? userShell(bench.machine.env), login === false ? "-c" : "-lc", cmd],
    cwd: path.resolve(bench.settings.cwd, workdir ?? ""),
    escalated: read.value.sandbox_permissions === "require_escalated",
    justification: justification ?? undefined,
  };
  const patch = patchCall(request.argv, await bench.machine.bashParser());
  if (patch) return yield* patchThroughShell(patch, request, bench, ctx);
  const judged = yield* judge(request, bench, ctx);
  if ("refusal" in judged) return judged.refusal;
  return yield* start(read.value, { ...desk, command: judged.work.command, sandboxed: judged.permission.sandboxed });
}

async function* start(args: z.infer<typeof ExecArguments>, work: Desk & { command: CommandCall; sandboxed: boolean }): ToolRun {
  const { bench, ctx, command, running } = work;
  const output = new Mailbox<ThreadEvent>();
  try {
    const argv = args.tty ? onTerminal(command.command, bench.machine.env) : command.command;
    const launch = await bench.launch(argv, { cwd: command.cwd, sandboxed: work.sandboxed, plainOutput: true });
    const started = bench.sessions
      .start(launch, {
        yieldTimeMs: startYieldMs(args.yield_time_ms ?? undefined),
        signal: ctx.signal,
        stdin: args.tty ? "pipe" : "none",
        onOutput: (stream, bytes) => output.put({ type: "commandOutput", callId: ctx.callId, stream, bytes }),
      })
      .finally(() => output.close());
    // Awaited below; a failure meanwhile must not count as unhandled.
    started.catch(() => undefined);
    yield* output.batches();
    const { report } = await started;
    if (report.sessionId !== undefined) running.set(report.sessionId, command);
    return yield* answer(report, args.max_output_tokens ?? DEFAULT_OUTPUT_TOKENS, { bench, command });
  } catch (error) {
    if (error instanceof AppError) return yield* refuse({ refused: `execution error: ${describe(error)}` }, command);
    throw error;
  }
}

async function* writeStdin(args: string, { bench, running, ctx }: Desk): ToolRun {
  const read = readArguments(args, WriteArguments);
  if ("complaint" in read) return { output: read.complaint };
  const { session_id: id, chars, yield_time_ms: yieldTimeMs, max_output_tokens: tokens } = read.value;
  try {
    const wait = { yieldTimeMs: writeYieldMs(yieldTimeMs ?? undefined, chars ?? ""), signal: ctx.signal };
    const report = await bench.sessions.write(id, chars ?? "", wait);
    const command = running.get(id);
    if (report.exitCode !== undefined) running.delete(id);
    return yield* answer(report, tokens ?? DEFAULT_OUTPUT_TOKENS, { bench, command });
  } catch (error) {
    if (error instanceof AppError) return { output: `write_stdin failed: ${describe(error)}` };
    throw error;
  }
}

async function* answer(
  report: SessionReport,
  maxOutputTokens: number,
  about: { bench: Workbench; command: CommandCall | undefined },
): ToolRun {
  const { output, wallTimeMs, exitCode, sessionId } = report;
  if (exitCode !== undefined && about.command) {
    const result = { aggregatedOutput: output, exitCode, durationMs: wallTimeMs, ended: "exited" as const };
    const shown = {
      stdout: output,
      stderr: "",
      aggregatedOutput: output,
      formattedOutput: formattedOutput(result, about.bench.truncation),
    };
    yield [{ type: "commandEnded", ...about.command, ...shown, exitCode, durationMs: wallTimeMs }];
  }
  return { output: sessionAnswer({ output, wallTimeMs, chunkId: randomBytes(3).toString("hex"), exitCode, sessionId, maxOutputTokens }) };
}

const YIELD = { type: "number", description: "Milliseconds to wait for output before answering." };
const MAX_OUTPUT = { type: "number", description: "How many tokens of output to return at most (default 10000)." };

const EXEC_COMMAND = {
  type: "function",
  name: "exec_command",
  description: "Runs a script in a shell. Answers with its output, or, when it still runs by then, with a session id for write_stdin.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      cmd: { type: "string", description: "The script." },
      workdir: { type: "string", description: "Folder to run in; the working directory unless given." },
      shell: { type: "string", description: "The shell; the user's unless given." },
      login: { type: "boolean", description: "Whether the shell reads the login profile (default true)." },
      tty: { type: "boolean", description: "Whether it gets a terminal and keeps its input open (default false)." },
      yield_time_ms: YIELD,
      max_output_tokens: MAX_OUTPUT,
      sandbox_permissions: { type: "string", description: "`require_escalated` asks to run outside the sandbox; `use_default` otherwise." },
      justification: { type: "string", description: "With `require_escalated`: one sentence for the user on why it is needed." },
    },
    required: ["cmd"],
    additionalProperties: false,
  },
};

const WRITE_STDIN = {
  type: "function",
  name: "write_stdin",
  description: "Writes to a command that exec_command left running, or waits for more of its output.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      session_id: { type: "number", description: "As exec_command named it." },
      chars: { type: "string", description: "What to write; empty to only wait." },
      yield_time_ms: YIELD,
      max_output_tokens: MAX_OUTPUT,
    },
    required: ["session_id"],
    additionalProperties: false,
  },
};
