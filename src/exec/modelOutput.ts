import { wholeCharactersAtEnd, wholeCharactersAtStart } from "./output.js";

/** How much of a command's output a model gets to see. */
export type TruncationPolicy = { readonly unit: "bytes" | "tokens"; readonly limit: number };

/** What the texts below are made of. */
export interface FinishedCommand {
  readonly aggregatedOutput: string;
  readonly exitCode: number;
  readonly durationMs: number;
  readonly ended: "exited" | "timedOut" | "cancelled";
}

const BYTES_PER_TOKEN = 4;

export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Takes out the middle of what is too long, and says how much. */
export function truncateMiddle(text: string, policy: TruncationPolicy): string {
  const budget = bytesOf(policy);
  const bytes = Buffer.from(text);
  if (bytes.length <= budget) return text;
  const half = Math.floor(budget / 2);
  const head = wholeCharactersAtEnd(bytes.subarray(0, half)).toString();
  const tail = wholeCharactersAtStart(bytes.subarray(bytes.length - (budget - half))).toString();
  const removed =
    policy.unit === "tokens"
      ? `${Math.ceil((bytes.length - budget) / BYTES_PER_TOKEN)} tokens`
      : `${[...text].length - [...head].length - [...tail].length} chars`;
  return `${head}…${removed} truncated…${tail}`;
}

/** `formatted_output` of `exec_command_end`: what the model sees, without what its tool puts around it. */
export function formattedOutput(command: FinishedCommand, policy: TruncationPolicy): string {
  return withLineCount(outputOf(command), policy);
}

/** The answer of `shell`, `local_shell` and `apply_patch`. */
export function shellAnswer(command: FinishedCommand, policy: TruncationPolicy): string {
  const output = JSON.stringify(formattedOutput(command, policy));
  return `{"output":${output},"metadata":{"exit_code":${command.exitCode},"duration_seconds":${tenths(command.durationMs)}}}`;
}

/** The answer of `shell_command`. */
export function shellCommandAnswer(command: FinishedCommand, policy: TruncationPolicy): string {
  const output = outputOf(command);
  const shown = truncateMiddle(output, policy);
  return [
    `Exit code: ${command.exitCode}`,
    `Wall time: ${Number(tenths(command.durationMs))} seconds`,
    ...(shown === output ? [] : [`Total output lines: ${linesIn(output)}`]),
    "Output:",
    shown,
  ].join("\n");
}

export interface SessionAnswer {
  readonly output: string;
  readonly wallTimeMs: number;
  readonly chunkId?: string;
  readonly exitCode?: number | undefined;
  readonly sessionId?: number | undefined;
  readonly maxOutputTokens: number;
}

/** The answer of `exec_command` and `write_stdin`. */
export function sessionAnswer({ output, wallTimeMs, chunkId, exitCode, sessionId, maxOutputTokens }: SessionAnswer): string {
  return [
    ...(chunkId === undefined ? [] : [`Chunk ID: ${chunkId}`]),
    `Wall time: ${(wallTimeMs / 1000).toFixed(4)} seconds`,
    ...(exitCode === undefined ? [] : [`Process exited with code ${exitCode}`]),
    ...(sessionId === undefined ? [] : [`Process running with session ID ${sessionId}`]),
    `Original token count: ${tokensIn(output)}`,
    "Output:",
    withLineCount(output, { unit: "tokens", limit: maxOutputTokens }),
  ].join("\n");
}

/** The answer of a shell tool that was interrupted. */
export function abortedAnswer(durationMs: number): string {
  return `Wall time: ${tenths(durationMs)} seconds\naborted by user`;
}

function outputOf({ aggregatedOutput, ended, durationMs }: FinishedCommand): string {
  return ended === "timedOut" ? `command timed out after ${Math.trunc(durationMs)} milliseconds\n${aggregatedOutput}` : aggregatedOutput;
}

function withLineCount(text: string, policy: TruncationPolicy): string {
  const shown = truncateMiddle(text, policy);
  return shown === text ? text : `Total output lines: ${linesIn(text)}\n\n${shown}`;
}

function bytesOf({ unit, limit }: TruncationPolicy): number {
  return unit === "tokens" ? limit * BYTES_PER_TOKEN : limit;
}

/** A last line counts whether or not it is ended. */
function linesIn(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function tenths(ms: number): string {
  return (ms / 1000).toFixed(1);
}
