import { deferred, valueWithin } from "../lib/promises.js";
import { MOST_TRIES, PlaceMoved } from "./errors.js";
import { endAtOnce, endStragglers, endWithUs, killTree } from "./killTree.js";
import type { Launch } from "./launch.js";
import { aggregate, HeadAndTail } from "./output.js";
import { outputText } from "./outputText.js";
import { type StartedProgram, startProgram } from "./startProgram.js";

export type OutputName = "stdout" | "stderr";

export interface RunOptions {
  readonly timeoutMs?: number;
  /** At its timeout, or when it is cancelled, the command is killed at once, without SIGTERM. */
  readonly endsAtOnce?: boolean;
  /** Ends the command; the result then says so. */
  readonly signal?: AbortSignal;
  /** Default: a command has no input. */
  readonly stdin?: "none" | "pipe";
  /** Receives output as it arrives, in chunks of at most 8 KiB, and at most 10,000 of them. */
  readonly onOutput?: (stream: OutputName, bytes: Buffer) => void;
  /** Receives all output. */
  readonly onBytes?: (bytes: Buffer) => void;
}

export interface RunningCommand {
  /** Settles when no process of the command is left. Rejects when it was never run. */
  readonly result: Promise<CommandResult>;
  /** False when the command accepts no input. */
  write(chars: string): Promise<boolean>;
  stop(): void;
}

export interface CommandResult {
  readonly ended: "exited" | "timedOut" | "cancelled";
  /** 124 after a timeout, 128 + n after signal n, -1 when unknown. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout followed by stderr. */
  readonly aggregatedOutput: string;
  /** The number of bytes removed from the middle of the two streams. */
  readonly omittedBytes: number;
  readonly durationMs: number;
}

const TIMED_OUT = 124;
const UNKNOWN = -1;
const FIRST_SIGNAL_CODE = 128;
/** A background child may hold the output open indefinitely. */
const DRAIN_MS = 2_000;

export function runCommand(launch: Launch, options: RunOptions = {}): RunningCommand {
  const stopping = new AbortController();
  const signal = options.signal ? AbortSignal.any([stopping.signal, options.signal]) : stopping.signal;
  const start = (how: Launch) => startProgram(how, { stdin: options.stdin ?? "none", signal });
  let started = start(launch);
  const input = new FirstInput();
  const notices: string[] = [];
  const follow = async (how: Launch, tries: number): Promise<CommandResult> => {
    try {
      return await followToTheEnd(started, how, { ...options, signal, notices });
    } catch (error) {
      if (!(error instanceof PlaceMoved) || !how.again || tries >= MOST_TRIES || !input.isWhole) throw error;
      const next = how.again();
      started = start(next).then((program) => input.repeatedFor(program));
      return follow(next, tries + 1);
    }
  };
  return {
    result: follow(launch, 1),
    write: async (chars) => {
      const program = await started;
      input.note(chars);
      return writeTo(program, chars);
    },
    stop: () => stopping.abort(),
  };
}

interface Following extends RunOptions {
  readonly signal: AbortSignal;
  /** Messages for the user about earlier tries, then about this one. */
  readonly notices: string[];
}

async function followToTheEnd(started: Promise<StartedProgram | undefined>, launch: Launch, options: Following): Promise<CommandResult> {
  const startedAt = performance.now();
  let gone = () => {};
  try {
    const program = await started;
    if (!program) return NEVER_BEGUN;
    gone = endWithUs(program);
    const output = collectOutput(program, options, launch);
    const stopped = deferred<string>();
    launch.supervise?.(program, (why) => stopped.resolve(why));
    const ended = await untilEnded(program, stopped.promise, options);
    if (ended === "stopped" || (ended !== "exited" && options.endsAtOnce)) await endAtOnce(program);
    else if (ended !== "exited") await killTree(program);
    const exitCode = await valueWithin(DRAIN_MS, program.exitCode, UNKNOWN);
    const everythingIsGone = await untilGone(program);
    program.close({ everythingIsGone });
    if (ended === "exited" && exitCode < FIRST_SIGNAL_CODE && launch.sandbox && !program.status()?.ran)
      throw launch.sandbox.explain(output.stderr.bytes().toString());
    output.showHeld();
    if (ended === "stopped") output.note(`The command was ended: ${await stopped.promise}.`);
    options.notices.push(...launch.release());
    for (const notice of options.notices) output.note(notice);
    return {
      ended: ended === "stopped" ? "exited" : ended,
      exitCode: ended === "timedOut" ? TIMED_OUT : exitCode,
      ...textsOf(output),
      durationMs: performance.now() - startedAt,
    };
  } finally {
    options.notices.push(...launch.release());
    gone();
  }
}

/** In a namespace everything dies with the command and the output ends; in a process group the rest must be ended first. */
async function untilGone(program: StartedProgram): Promise<boolean> {
  if (program.containment.kind === "group") {
    await endStragglers(program);
    await valueWithin(DRAIN_MS, program.drained, false);
    return false;
  }
  const drained = await valueWithin(DRAIN_MS, program.drained, false);
  return (await endStragglers(program)) && drained;
}

const NEVER_BEGUN: CommandResult = {
  ended: "cancelled",
  exitCode: UNKNOWN,
  stdout: "",
  stderr: "",
  aggregatedOutput: "",
  omittedBytes: 0,
  durationMs: 0,
};

type Ending = CommandResult["ended"] | "stopped";

async function untilEnded(program: StartedProgram, stop: Promise<string>, { timeoutMs, signal }: Following): Promise<Ending> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const exited = program.exitCode.then(() => "exited" as const);
  const timedOut = new Promise<"timedOut">((resolve) => {
    if (timeoutMs !== undefined) timer = setTimeout(() => resolve("timedOut"), Math.min(timeoutMs, LONGEST_TIMER_MS));
  });
  const cancelled = new Promise<"cancelled">((resolve) => {
    onAbort = () => resolve("cancelled");
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([exited, timedOut, cancelled, stop.then(() => "stopped" as const)]);
  } finally {
    clearTimeout(timer);
    if (onAbort) signal.removeEventListener("abort", onAbort);
  }
}

/** Node fires longer timers immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface CollectedOutput extends Readonly<Record<OutputName, HeadAndTail>> {
  /** Appends a line of ours to the command's output. */
  note(text: string): void;
  /** Shows what was held back, because the command did run. */
  showHeld(): void;
}

const LARGEST_PIECE_BYTES = 8192;
const MOST_PIECES = 10_000;

/** Always reads to the end and drops the excess: a reader that pauses would block the command. */
function collectOutput(program: StartedProgram, { onOutput, onBytes }: RunOptions, { sandbox }: Launch): CollectedOutput {
  const output = { stdout: new HeadAndTail(), stderr: new HeadAndTail() };
  let pieces = 0;
  // The error of a sandbox is not the command's output. It may come in several pieces.
  let held: Buffer | undefined = sandbox && Buffer.alloc(0);
  const take = (name: OutputName, chunk: Buffer) => {
    output[name].push(chunk);
    if (name !== "stderr" || !held) return show(name, chunk);
    held = Buffer.concat([held, chunk]);
    if (!sandbox || !mayBeComplaint(held, sandbox.complaint)) showHeld();
  };
  const showHeld = () => {
    if (held) show("stderr", held);
    held = undefined;
  };
  const show = (name: OutputName, chunk: Buffer) => {
    onBytes?.(chunk);
    for (let at = 0; onOutput && at < chunk.length && pieces < MOST_PIECES; at += LARGEST_PIECE_BYTES, pieces++)
      onOutput(name, chunk.subarray(at, at + LARGEST_PIECE_BYTES));
  };
  for (const name of ["stdout", "stderr"] as const) program[name].on("data", (chunk: Buffer) => take(name, chunk));
  return { ...output, note: (text) => take("stderr", Buffer.from(`${text}\n`)), showHeld };
}

function mayBeComplaint(output: Buffer, complaint: string): boolean {
  const text = output.toString();
  const lineEnd = text.indexOf("\n");
  return text.length <= LONGEST_COMPLAINT && text.startsWith(complaint) && (lineEnd < 0 || lineEnd === text.length - 1);
}

/** A path, and what is wrong with it. */
const LONGEST_COMPLAINT = 8192;

function textsOf({ stdout, stderr }: CollectedOutput): Pick<CommandResult, OutputName | "aggregatedOutput" | "omittedBytes"> {
  const [out, err] = [stdout.bytes(), stderr.bytes()];
  return {
    stdout: outputText(out),
    stderr: outputText(err),
    aggregatedOutput: outputText(aggregate(out, err)),
    omittedBytes: stdout.omittedBytes + stderr.omittedBytes,
  };
}

/** Setting up a sandbox takes milliseconds; what is written later is not for it. */
const LONGEST_FIRST_INPUT = 64 * 1024;

/** The first input of a command: a sandbox that could not be set up never passed it on. */
class FirstInput {
  readonly #pieces: string[] = [];
  #length = 0;

  /** False: it is too long to be kept. */
  get isWhole(): boolean {
    return this.#length <= LONGEST_FIRST_INPUT;
  }

  note(chars: string): void {
    this.#length += chars.length;
    if (this.isWhole) this.#pieces.push(chars);
  }

  repeatedFor(program: StartedProgram | undefined): StartedProgram | undefined {
    for (const chars of this.#pieces) writeTo(program, chars);
    return program;
  }
}

/** Input that the command does not read must not fill the memory. */
const LARGEST_UNREAD_INPUT = 1024 * 1024;

function writeTo(program: StartedProgram | undefined, chars: string): boolean {
  const stdin = program?.stdin;
  if (!stdin?.writable || stdin.writableLength > LARGEST_UNREAD_INPUT) return false;
  stdin.write(chars);
  return true;
}
