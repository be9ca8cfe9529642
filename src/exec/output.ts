/** Codex keeps this much of each stream, and of both together. */
export const CAPTURE_LIMIT_BYTES = 1024 * 1024;

/** The beginning and the end of output of any length, in bounded memory. */
export class HeadAndTail {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head = Buffer.alloc(0);
  #headBytes = 0;
  /** A ring buffer: once it is full, the next byte replaces the oldest. */
  #tail: Buffer | undefined;
  #tailBytes = 0;

  constructor(limitBytes: number = CAPTURE_LIMIT_BYTES) {
    this.#headLimit = Math.ceil(limitBytes / 2);
    this.#tailLimit = Math.max(1, limitBytes - this.#headLimit);
  }

  get omittedBytes(): number {
    return Math.max(0, this.#tailBytes - this.#tailLimit);
  }

  push(chunk: Buffer): void {
    const rest = this.#fillHead(chunk);
    if (rest.length === 0) return;
    this.#tail ??= Buffer.allocUnsafe(this.#tailLimit);
    const kept = rest.subarray(Math.max(0, rest.length - this.#tailLimit));
    const at = (this.#tailBytes + rest.length - kept.length) % this.#tailLimit;
    const untilEnd = kept.subarray(0, this.#tailLimit - at);
    untilEnd.copy(this.#tail, at);
    kept.copy(this.#tail, 0, untilEnd.length);
    this.#tailBytes += rest.length;
  }

  /** A character split by the omission is left out too. */
  bytes(): Buffer {
    const head = this.#head.subarray(0, this.#headBytes);
    if (!this.#tail) return Buffer.from(head);
    if (this.#tailBytes <= this.#tailLimit) return Buffer.concat([head, this.#tail.subarray(0, this.#tailBytes)]);
    const oldest = this.#tailBytes % this.#tailLimit;
    const tail = Buffer.concat([this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)]);
    return Buffer.concat([wholeCharactersAtEnd(head), wholeCharactersAtStart(tail)]);
  }

  #fillHead(chunk: Buffer): Buffer {
    const taken = chunk.subarray(0, this.#headLimit - this.#headBytes);
    const needed = this.#headBytes + taken.length;
    if (needed > this.#head.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#headLimit, Math.max(needed, this.#head.length * 2)));
      this.#head.copy(grown, 0, 0, this.#headBytes);
      this.#head = grown;
    }
    taken.copy(this.#head, this.#headBytes);
    this.#headBytes = needed;
    return chunk.subarray(taken.length);
  }
}

/** Joins both streams. If they do not fit, stdout keeps a third and stderr two thirds, and each may use what the other leaves. */
export function aggregate(stdout: Buffer, stderr: Buffer, limitBytes: number = CAPTURE_LIMIT_BYTES): Buffer {
  if (stdout.length + stderr.length <= limitBytes) return Buffer.concat([stdout, stderr]);
  const third = Math.min(stdout.length, Math.floor(limitBytes / 3));
  const stderrBytes = Math.min(stderr.length, limitBytes - third);
  return Buffer.concat([cutMiddle(stdout, limitBytes - stderrBytes), cutMiddle(stderr, stderrBytes)]);
}

function cutMiddle(bytes: Buffer, limitBytes: number): Buffer {
  const kept = new HeadAndTail(limitBytes);
  kept.push(bytes);
  return kept.bytes();
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;
const LONGEST_CHARACTER_BYTES = 4;

/** Drops an incomplete character at the end. Bytes that are not UTF-8 at all stay. */
function wholeCharactersAtEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(LONGEST_CHARACTER_BYTES, bytes.length); back++) {
    const at = bytes.length - back;
    if (isContinuation(bytes[at])) continue;
    return back < characterBytes(bytes[at]) ? bytes.subarray(0, at) : bytes;
  }
  return bytes;
}

function wholeCharactersAtStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < LONGEST_CHARACTER_BYTES - 1 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}

function characterBytes(first: number | undefined): number {
  if (first === undefined || first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** How much of a command's output the model gets. */
export type TruncationPolicy = { readonly unit: "bytes" | "tokens"; readonly limit: number };

/** The input of the text functions below. */
export interface FinishedCommand {
  readonly aggregatedOutput: string;
  readonly exitCode: number;
  readonly durationMs: number;
  readonly ended: "exited" | "timedOut" | "cancelled";
}

const BYTES_PER_TOKEN = 4;

function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Removes the middle of a text that is too long, and states how much was removed. */
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

/** `formatted_output` of `exec_command_end`: what the model gets, without the tool's framing. */
export function formattedOutput(command: FinishedCommand, policy: TruncationPolicy): string {
  return withLineCount(outputOf(command), policy);
}

/** The result text of `shell`, `local_shell` and `apply_patch`. */
export function shellAnswer(command: FinishedCommand, policy: TruncationPolicy): string {
  const output = JSON.stringify(formattedOutput(command, policy));
  return `{"output":${output},"metadata":{"exit_code":${command.exitCode},"duration_seconds":${tenths(command.durationMs)}}}`;
}

/** The result text of `shell_command`. */
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

const LINE_COUNT = /^Total output lines: (\d+)\n\n/;

/** A result text of `shell` or `apply_patch` in the form of `shell_command`; undefined for any other text. */
export function resultAsText(answer: string): string | undefined {
  const parts = /^\{"output":(".*"),"metadata":\{"exit_code":(-?\d+),"duration_seconds":([\d.]+)\}\}$/s.exec(answer);
  if (!parts) return undefined;
  const output = textOf(parts[1] ?? "");
  if (output === undefined) return undefined;
  const lines = LINE_COUNT.exec(output)?.[1];
  return [
    `Exit code: ${parts[2]}`,
    `Wall time: ${Number(parts[3])} seconds`,
    ...(lines === undefined ? [] : [`Total output lines: ${lines}`]),
    "Output:",
    output.replace(LINE_COUNT, ""),
  ].join("\n");
}

/** Undefined for a text that was cut in the middle of an escape. */
function textOf(json: string): string | undefined {
  try {
    return String(JSON.parse(json));
  } catch {
    return undefined;
  }
}

export interface SessionAnswer {
  readonly output: string;
  readonly wallTimeMs: number;
  readonly chunkId?: string;
  readonly exitCode?: number | undefined;
  readonly sessionId?: number | undefined;
  readonly maxOutputTokens: number;
}

/** The result text of `exec_command` and `write_stdin`. */
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

/** The result text of an interrupted shell tool. */
export function abortedAnswer(durationMs: number): string {
  return `Wall time: ${tenths(durationMs)} seconds\naborted by user`;
}

function outputOf({ aggregatedOutput, ended, durationMs }: FinishedCommand): string {
  return ended === "timedOut" ? `command timed out after ${Math.trunc(durationMs)} milliseconds\n${aggregatedOutput}` : aggregatedOutput;
}

export function withLineCount(text: string, policy: TruncationPolicy): string {
  const shown = truncateMiddle(text, policy);
  return shown === text ? text : `Total output lines: ${linesIn(text)}\n\n${shown}`;
}

export function bytesOf({ unit, limit }: TruncationPolicy): number {
  return unit === "tokens" ? limit * BYTES_PER_TOKEN : limit;
}

/** The last line counts with or without a line end. */
function linesIn(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function tenths(ms: number): string {
  return (ms / 1000).toFixed(1);
}
