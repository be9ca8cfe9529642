import { type ChildProcess, execFile } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { ProgramNotStarted } from "./errors.js";
import { systemProgram } from "./outside/systemPrograms.js";

export type StreamEnd = "pipe" | "ignore" | number;

/** What connects a program's stdin, stdout and stderr with us. */
export interface StandardStreams {
  /** For `spawn`. */
  readonly ends: readonly StreamEnd[];
  /** Our side. Undefined when the program could not be started. */
  of(child: ChildProcess): OurSide | undefined;
  handedOver(): void;
  finish(options: { reusable: boolean }): void;
}

export interface OurSide {
  /** Present when it was asked for. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export async function openStandardStreams(wanted: { stdin: "none" | "pipe" }): Promise<StandardStreams> {
  const input = wanted.stdin === "pipe" ? await pipes.take("toProgram") : undefined;
  const output = await pipes.take("fromProgram");
  const errors = await pipes.take("fromProgram");
  return {
    ends: [input?.programEnd ?? (wanted.stdin === "pipe" ? "pipe" : "ignore"), output?.programEnd ?? "pipe", errors?.programEnd ?? "pipe"],
    of: (child) => {
      const [stdin, stdout, stderr] = [input?.ourEnd ?? child.stdin, output?.ourEnd ?? child.stdout, errors?.ourEnd ?? child.stderr];
      // A program that has ended takes nothing any more; its exit code tells.
      stdin?.on("error", () => {});
      return stdout && stderr ? { stdin: stdin ?? undefined, stdout, stderr } : undefined;
    },
    handedOver: () => {
      for (const pipe of [input, output, errors]) pipe?.handedOver();
    },
    finish: ({ reusable }) => {
      // What the program did not read is still in there.
      input?.finish({ reusable: false });
      for (const pipe of [output, errors]) pipe?.finish({ reusable });
    },
  };
}

/** One end is for the program, the other is ours. */
export interface ProgramPipe {
  readonly programEnd: number;
  readonly ourEnd: Socket;
  /** The program has its end, or never will: it is closed here, so that reading ends with the last writer. */
  handedOver(): void;
  /** Gives the pipe back; only one that is empty and that nobody else can have open may be used again. */
  finish(options: { reusable: boolean }): void;
}

/** Memory that every Linux offers as a file system. */
const MEMORY = "/dev/shm";
const MADE_AT_ONCE = 8;
const MAKING_MS = 5_000;
const KEPT_AT_MOST = 32;

/**
 * Real pipes between commands and us. Node connects children by sockets, which makes a difference: a socket cannot be opened by
 * its name in /proc, so `echo … > /dev/stderr` fails, and a bash that reads from one believes to be called from far away and
 * reads its profile. Node cannot make a pipe, so they are made as named ones, lose their names at once, and are opened again
 * through the descriptor that keeps each of them.
 */
class PipePool {
  readonly #kept: number[] = [];
  #making: Promise<boolean> | undefined;

  /** Undefined where pipes cannot be had that way; sockets do then. */
  async take(direction: "toProgram" | "fromProgram"): Promise<ProgramPipe | undefined> {
    while (this.#kept.length === 0) {
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      if (!(await this.#making)) return undefined;
    }
    const kept = this.#kept.pop();
    if (kept === undefined) return undefined;
    const [ourEnd, programEnd] = direction === "toProgram" ? openForWriting(kept) : openForReading(kept);
    return {
      programEnd,
      ourEnd,
      handedOver: () => closeSync(programEnd),
      finish: ({ reusable }) => {
        ourEnd.destroy();
        if (reusable && this.#kept.length < KEPT_AT_MOST && isUnused(kept)) this.#kept.push(kept);
        else closeSync(kept);
      },
    };
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

/** A pipe blocks whoever opens it until the other end is open; ours never does. */
function openForReading(kept: number): [Socket, number] {
  const fd = openSync(`/proc/self/fd/${kept}`, constants.O_RDONLY | constants.O_NONBLOCK);
  return [new Socket({ fd, readable: true, writable: false }), openSync(`/proc/self/fd/${kept}`, constants.O_WRONLY)];
}

function openForWriting(kept: number): [Socket, number] {
  const fd = openSync(`/proc/self/fd/${kept}`, constants.O_WRONLY | constants.O_NONBLOCK);
  return [new Socket({ fd, readable: false, writable: true }), openSync(`/proc/self/fd/${kept}`, constants.O_RDONLY)];
}

/** Empty, and nobody could write: a command may say something between the end of our reading and its own. */
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

/** Sandboxed commands have a /dev/shm of their own, but may share /tmp with us. */
function outOfReach(): string {
  return existsSync(MEMORY) ? MEMORY : tmpdir();
}

/** One for the process: pipes cost a program start to make, and none to use again. */
export const pipes: Pick<PipePool, "take"> = new PipePool();
