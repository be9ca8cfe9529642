import { abortedAnswer, formattedOutput } from "../../../exec/modelOutput.js";
import { type CommandResult, runCommand } from "../../../exec/run.js";
import { isSandboxDenial, RETRY_REASON, retryAfterDenial } from "../../../exec/safety/judge/assess.js";
import { AppError, describe } from "../../../lib/errors.js";
import { Mailbox } from "../../../lib/mailbox.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { type CommandRequest, judge, type Permission, question, refuse, type Work } from "./judge.js";
import type { ToolContext, ToolRun } from "./tool.js";
import type { Workbench } from "./workbench.js";

export interface ShellCall extends CommandRequest {
  readonly timeoutMs: number;
  /** How this tool words what came out. */
  readonly answer: (result: CommandResult) => string;
}

/** One command from the model: judged, run, and run again outside the sandbox where somebody allows it. */
export async function* runShell(call: ShellCall, bench: Workbench, ctx: ToolContext): ToolRun {
  const judged = yield* judge(call, bench, ctx);
  if ("refusal" in judged) return judged.refusal;
  const { work, permission } = judged;
  const first = yield* attempt(call, work, permission.sandboxed);
  if ("failure" in first) return yield* refuse({ refused: first.failure }, work.command);
  if (!needsRetry(first.result, permission, bench)) return yield* finish(first.result, call, work);
  const prefix = permission.proposedPrefix === undefined ? {} : { proposedPrefix: permission.proposedPrefix };
  const refusal = await question(work, { reason: RETRY_REASON, ...prefix, staysInSandbox: false, needsPerson: false });
  if (refusal) return yield* refuse(refusal, work.command);
  const second = yield* attempt(call, work, false);
  return "failure" in second ? yield* refuse({ refused: second.failure }, work.command) : yield* finish(second.result, call, work);
}

function needsRetry(result: CommandResult, { sandboxed }: Permission, bench: Workbench): boolean {
  const denied = sandboxed && result.ended === "exited" && isSandboxDenial({ ...result, aggregated: result.aggregatedOutput });
  return denied && retryAfterDenial(bench.settings.approvalPolicy) === "ask";
}

type Attempt = { readonly result: CommandResult } | { readonly failure: string };

/** Runs the command and shows its output as it comes. What kept it from running at all is told to the model. */
async function* attempt(call: ShellCall, { bench, ctx }: Work, sandboxed: boolean): AsyncGenerator<readonly ThreadEvent[], Attempt> {
  const output = new Mailbox<ThreadEvent>();
  try {
    const launch = await bench.launch(call.argv, { cwd: call.cwd, sandboxed });
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

async function* finish(result: CommandResult, call: ShellCall, { command, bench }: Work): ToolRun {
  if (result.ended === "cancelled") return { output: abortedAnswer(result.durationMs) };
  const { stdout, stderr, aggregatedOutput, exitCode, durationMs } = result;
  const shown = { stdout, stderr, aggregatedOutput, formattedOutput: formattedOutput(result, bench.truncation) };
  yield [{ type: "commandEnded", ...command, ...shown, exitCode, durationMs }];
  return { output: call.answer(result) };
}
