import { setTimeout as sleep } from "node:timers/promises";
import { formattedOutput, type HeadAndTail } from "../../../exec/output.js";
import { outputText } from "../../../exec/outputText.js";
import type { CommandResult } from "../../../exec/run.js";
import type { TurnId } from "../../../lib/ids.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall } from "../../../threads/items.js";
import type { ToolRuntime } from "./toolRuntime.js";

/** Codex 0.92.0 waited this long for the last output of a command without a terminal. */
const LAST_OUTPUT_MS = 100;
/** In Codex 0.92.0 the last line came this long after a terminal was closed, and the end of the command this long after the line. */
const CLOSED_MS = 50;

/** If one of these signals ended a command on a terminal, Codex 0.92.0 reported the exit code 1. */
const ENDING_SIGNALS = [1, 2, 3, 9, 15];

/** A command that continues to run after the call that started it. */
export interface DetachedCommand {
  readonly command: CommandCall;
  readonly turnId: TurnId | undefined;
  readonly onTerminal: boolean;
  /** The output that was shown. */
  readonly seen: HeadAndTail;
}

export interface LeftCommand extends DetachedCommand {
  readonly sandboxed: boolean;
  readonly startedAt: number;
  end?: Pick<CommandResult, "exitCode" | "durationMs" | "ended">;
  /** The event of its end was shown. */
  isShown?: true;
}

/** By their sessions: commands that outlived their call, and whose end the model has not seen. */
export type LeftCommands = Map<number, LeftCommand>;

/** Shows the ends of commands that ended, or were ended to make room for others, while the model did not wait for them. */
export function takeEnds(running: LeftCommands, runtime: ToolRuntime): ThreadEvent[] {
  return [...running].flatMap(([id, left]) => {
    const { end, startedAt, isShown } = left;
    const isKept = runtime.sessions.has(id);
    if (!isKept) running.delete(id);
    if (isShown || (!end && isKept)) return [];
    left.isShown = true;
    const exitCode = end?.ended === "exited" ? end.exitCode : undefined;
    return [endOfCommand(left, { exitCode, durationMs: end?.durationMs ?? performance.now() - startedAt }, runtime)];
  });
}

/** The event of a command's end. Without an exit code it was ended, and did not end by itself. */
function endOfCommand(
  { command, turnId, seen }: DetachedCommand,
  { exitCode = -1, durationMs }: { readonly exitCode: number | undefined; readonly durationMs: number },
  { truncation }: Pick<ToolRuntime, "truncation">,
): ThreadEvent {
  const text = outputText(seen.bytes());
  const whole = {
    stdout: text,
    stderr: "",
    aggregatedOutput: text,
    formattedOutput: formattedOutput({ aggregatedOutput: text, exitCode, durationMs, ended: "exited" }, truncation),
  };
  return { type: "commandEnded", ...command, ...whole, exitCode, durationMs, ...(turnId && { ofTurn: turnId }) };
}

/** Shows output that a command writes after its call, between the other events of the thread, as Codex 0.92.0 did. */
export function showLateOutput(bytes: Buffer, { command: { callId }, turnId }: DetachedCommand, { lateEvents }: ToolRuntime): void {
  lateEvents.put({ type: "commandOutput", callId, stream: "stdout", bytes, ...(turnId && { ofTurn: turnId }) });
}

/** Waits for the end of the command, then shows it in the same way. */
export async function showLateEnd(finished: Promise<CommandResult>, running: DetachedCommand, runtime: ToolRuntime): Promise<void> {
  const { onTerminal, seen } = running;
  const result = await finished.catch(() => undefined);
  const isStopped = result?.ended !== "exited";
  if (isStopped && onTerminal) {
    // A terminal shows an empty line when it is closed.
    await sleep(CLOSED_MS, undefined, { ref: false });
    const line = Buffer.from("\r\n");
    seen.push(line);
    showLateOutput(line, running, runtime);
  }
  if (!onTerminal || isStopped) await sleep(onTerminal ? CLOSED_MS : LAST_OUTPUT_MS, undefined, { ref: false });
  const exitCode = isStopped ? (onTerminal ? 1 : -1) : shownExitCode(result?.exitCode ?? -1, running);
  runtime.lateEvents.put(endOfCommand(running, { exitCode, durationMs: result?.durationMs ?? 0 }, runtime));
}

/** The exit code in events and for the model. */
export function shownExitCode(exitCode: number, { onTerminal }: Pick<DetachedCommand, "onTerminal">): number {
  return onTerminal && ENDING_SIGNALS.includes(exitCode - 128) ? 1 : exitCode;
}
