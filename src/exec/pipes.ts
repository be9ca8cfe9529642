import { type ChildProcess, execFile } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { ProgramNotStarted } from "./errors.js";
import { systemProgram } from "./outside/outsidePrograms.js";

export type StreamEnd = "pipe" | "ignore" | number;

/** Connects a program's stdin, stdout and stderr with this process. */
export interface StandardStreams {
  /** The `stdio` option for `spawn`. */
  readonly ends: readonly StreamEnd[];
  /** For each of the wanted texts, the end from which the program reads it. Undefined where it does not fit into a pipe. */
  readonly texts: readonly (number | undefined)[];
  /** Our side. Undefined when the program could not be started. */
  of(child: ChildProcess): OurSide | undefined;
  handedOver(): void;
  finish(options: { reusable: boolean }): void;
}

export interface OurSide {
  /** Present when requested. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

interface WantedStreams {
  readonly stdin: "none" | "pipe";
  /** What the program reads from further descriptors. */
  readonly texts?: readonly (Buffer | undefined)[];
}

export async function openStandardStreams(wanted: WantedStreams): Promise<StandardStreams> {
  const input = wanted.stdin === "pipe" ? await pipes.take("toProgram") : undefined;
  const output = await pipes.take("fromProgram");
  const errors = await pipes.take("fromProgram");
  const texts: (FilledPipe | undefined)[] = [];
  for (const text of wanted.texts ?? []) texts.push(text && (await pipes.filledWith(text)));
  return {
    texts: texts.map((pipe) => pipe?.programEnd),
    ends: [input?.programEnd ?? (wanted.stdin === "pipe" ? "pipe" : "ignore"), output?.programEnd ?? "pipe", errors?.programEnd ?? "pipe"],
    of: (child) => {
      const [stdin, stdout, stderr] = [input?.ourEnd ?? child.stdin, output?.ourEnd ?? child.stdout, errors?.ourEnd ?? child.stderr];
      // A program that has ended no longer reads its input; its exit code is the result.
      stdin?.on("error", () => {});
      return stdout && stderr ? { stdin: stdin ?? undefined, stdout, stderr } : undefined;
    },
    handedOver: () => {
      for (const pipe of [input, output, errors, ...texts]) pipe?.handedOver();
    },
    finish: ({ reusable }) => {
      // The pipe still holds input that the program did not read.
      input?.finish({ reusable: false });
      for (const pipe of [output, errors, ...texts]) pipe?.finish({ reusable });
    },
  };
}

/** One end is the program's, the other is ours. */
export interface ProgramPipe extends FilledPipe {
  readonly ourEnd: Socket;
}

/** Holds all that the program will read from it. */
export interface FilledPipe {
  readonly programEnd: number;
  /** Called when the program has its end or failed to start: closes that end here, so that reading ends with the last writer. */
  handedOver(): void;
  /** Returns the pipe to the pool; it may only be reused if it is empty and no one else can have it open. */
  finish(options: { reusable: boolean }): void;
}

/** The memory file system of every Linux. */
const MEMORY = "/dev/shm";
const MADE_AT_ONCE = 8;
const MAKING_MS = 5_000;
const KEPT_AT_MOST = 32;

/**
 * Real pipes between commands and this process. Node connects children by sockets, which behave differently: a socket cannot be opened by
 * its name in /proc, so `echo … > /dev/stderr` fails, and a bash that reads from a socket assumes a remote shell and reads its profile.
 * Node cannot create a pipe, so named pipes are created and unlinked at once. Their ends are opened through a descriptor that keeps each
 * pipe alive.
 */
class PipePool {
  readonly #kept: number[] = [];
  #making: Promise<boolean> | undefined;

  /** Undefined where such pipes are not available; sockets are used then. */
  async take(direction: "toProgram" | "fromProgram"): Promise<ProgramPipe | undefined> {
    const kept = await this.#next();
    if (kept === undefined) return undefined;
    const [ourEnd, programEnd] = direction === "toProgram" ? openForWriting(kept) : openForReading(kept);
    return {
      programEnd,
      ourEnd,
      handedOver: () => closeSync(programEnd),
      finish: ({ reusable }) => {
        ourEnd.destroy();
        this.#giveBack(kept, { reusable });
      },
    };
  }

  /**
   * A pipe with these bytes, which ends after them at once: a program that reads up to the end does not wait for this process. Undefined where
   * they do not fit.
   */
  async filledWith(bytes: Buffer): Promise<FilledPipe | undefined> {
    const kept = await this.#next();
    if (kept === undefined) return undefined;
    const writer = openSync(`/proc/self/fd/${kept}`, constants.O_WRONLY | constants.O_NONBLOCK);
    const programEnd = openSync(`/proc/self/fd/${kept}`, constants.O_RDONLY);
    const isFilled = takesAll(writer, bytes);
    closeSync(writer);
    const pipe = {
      programEnd,
      handedOver: () => closeSync(programEnd),
      finish: ({ reusable }: { readonly reusable: boolean }) => this.#giveBack(kept, { reusable }),
    };
    if (isFilled) return pipe;
    pipe.handedOver();
    pipe.finish({ reusable: false });
    return undefined;
  }

  async #next(): Promise<number | undefined> {
    while (this.#kept.length === 0) {
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      if (!(await this.#making)) return undefined;
    }
    return this.#kept.pop();
  }

  #giveBack(kept: number, { reusable }: { readonly reusable: boolean }): void {
    if (reusable && this.#kept.length < KEPT_AT_MOST && isUnused(kept)) this.#kept.push(kept);
    else closeSync(kept);
  }

  async #make(): Promise<boolean> {
    if (process.platform !== "linux") return false;
    try {
      this.#kept.push(...(await namelessPipes()));
      return true;
    } catch {
      return false;
    }
  }
}

/** Opening a pipe blocks until the other end is open; these flags avoid that. */
function openForReading(kept: number): [Socket, number] {
  const fd = openSync(`/proc/self/fd/${kept}`, constants.O_RDONLY | constants.O_NONBLOCK);
  return [new Socket({ fd, readable: true, writable: false }), openSync(`/proc/self/fd/${kept}`, constants.O_WRONLY)];
}

function openForWriting(kept: number): [Socket, number] {
  const fd = openSync(`/proc/self/fd/${kept}`, constants.O_WRONLY | constants.O_NONBLOCK);
  return [new Socket({ fd, readable: false, writable: true }), openSync(`/proc/self/fd/${kept}`, constants.O_RDONLY)];
}

function takesAll(writer: number, bytes: Buffer): boolean {
  try {
    return writeSync(writer, bytes) === bytes.length;
  } catch {
    return false;
  }
}

/** The pipe is empty and has no writer: a command may write between the end of our reading and its own end. */
function isUnused(kept: number): boolean {
  try {
    return readSync(kept, Buffer.allocUnsafe(1)) === 0;
  } catch {
    return false;
  }
}

async function namelessPipes(): Promise<number[]> {
  const mkfifo = systemProgram("mkfifo");
  if (mkfifo === undefined) throw new ProgramNotStarted("mkfifo", "it is not in a folder of the system");
  const folder = mkdtempSync(path.join(outOfReach(), "codex-mcpd-"));
  const names = Array.from({ length: MADE_AT_ONCE }, (_, at) => path.join(folder, String(at)));
  try {
    await promisify(execFile)(mkfifo, ["-m", "600", ...names], { env: {}, timeout: MAKING_MS, killSignal: "SIGKILL" });
    return names.map((name) => openSync(name, constants.O_RDONLY | constants.O_NONBLOCK));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sandboxed commands have their own /dev/shm, but may share /tmp with us. */
function outOfReach(): string {
  return existsSync(MEMORY) ? MEMORY : tmpdir();
}

/** One pool per process: creating pipes costs a program start, reusing them costs nothing. */
export const pipes: Pick<PipePool, "take" | "filledWith"> = new PipePool();
