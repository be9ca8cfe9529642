import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { errorCode } from "../lib/errors.js";
import { firstNamesIn } from "../platform/paths.js";
import { isAbandoned, ownRun, parseClaim, runName } from "../platform/processes.js";
import { ProgramNotStarted } from "./errors.js";
import { systemProgram } from "./outside/outsidePrograms.js";

/** A pipe between this process and a program. */
export interface ProgramPipe extends ProgramEnd {
  readonly ourEnd: Socket;
}

/** The program's end of a pipe. */
export interface ProgramEnd {
  readonly programEnd: number;
  /** Called when the program has its end or failed to start: closes that end here, so that reading ends with the last writer. */
  handedOver(): void;
  /** Returns the pipe to the pool; it may only be reused if it is empty and no one else can have it open. */
  finish(options: { reusable: boolean }): void;
}

export type Direction = "toProgram" | "fromProgram";

/** The memory file system of every Linux. */
const MEMORY = "/dev/shm";
/** Begins the names of the folders in which pipes are made. */
const FOLDER = "codex-mcpd-pipes";
/** A folder for all users may contain any number of names. */
const MOST_EXAMINED = 1_000;
const MADE_AT_ONCE = 8;
const MAKING_MS = 5_000;
const KEPT_AT_MOST = 32;
const OUT_OF_FILES: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/**
 * Real pipes between commands and this process. Node connects children by sockets, which behave differently: a socket cannot be opened by
 * its name in /proc, so `echo … > /dev/stderr` fails, and a bash that reads from a socket assumes a remote shell and reads its profile.
 * Node cannot create a pipe, so named pipes are created and unlinked at once. Their ends are opened through a descriptor that keeps each
 * pipe alive.
 */
class PipePool {
  readonly #kept: number[] = [];
  #making: Promise<boolean> | undefined;
  #hasSwept = false;

  /** Undefined where such pipes are not available; sockets are used then. */
  async take(direction: Direction): Promise<ProgramPipe | undefined> {
    const kept = await this.#next();
    if (kept === undefined) return undefined;
    const isInput = direction === "toProgram";
    const [ours = -1, programEnd = -1] = openEnds(kept, isInput ? OUR_WRITING : OUR_READING);
    const ourEnd = new Socket({ fd: ours, readable: !isInput, writable: isInput });
    return {
      programEnd,
      ourEnd,
      handedOver: () => closeSync(programEnd),
      finish: ({ reusable }) => {
        ourEnd.destroy();
        // The pipe may still hold input that the program did not read.
        this.#giveBack(kept, { reusable: reusable && !isInput });
      },
    };
  }

  /**
   * A pipe that contains these bytes and has no writer any more, so a program that reads it up to the end does not wait for this process.
   * Undefined if the bytes do not fit.
   */
  async filledWith(bytes: Buffer): Promise<ProgramEnd | undefined> {
    const kept = await this.#next();
    if (kept === undefined) return undefined;
    const [writer = -1, programEnd = -1] = openEnds(kept, OUR_WRITING);
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
      const parent = outOfReach();
      const isFirst = !this.#hasSwept;
      this.#hasSwept = true;
      if (isFirst) removeLeftPipes(parent);
      this.#kept.push(...(await namelessPipes(parent)));
      return true;
    } catch (error) {
      // Sockets count as open files too, and Node does not close those of a program that it cannot start for this reason.
      if (OUT_OF_FILES.has(errorCode(error) ?? "")) throw error;
      return false;
    }
  }
}

/** How our end and the program's are opened, in this order. Opening a pipe blocks until the other end is open; O_NONBLOCK at our end avoids that. */
const OUR_READING = [constants.O_RDONLY | constants.O_NONBLOCK, constants.O_WRONLY];
const OUR_WRITING = [constants.O_WRONLY | constants.O_NONBLOCK, constants.O_RDONLY];

/** Opens both ends of a pipe. If one cannot be opened, the pipe is closed. */
function openEnds(kept: number, flags: readonly number[]): number[] {
  try {
    return openAll(flags, (flag) => openSync(`/proc/self/fd/${kept}`, flag));
  } catch (error) {
    closeSync(kept);
    throw error;
  }
}

/** All of them or none: what was opened before a failure is closed again. */
function openAll<Wanted>(wanted: readonly Wanted[], open: (one: Wanted) => number): number[] {
  const opened: number[] = [];
  try {
    for (const one of wanted) opened.push(open(one));
    return opened;
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
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

/** Removes what killed servers left while they made pipes. In a folder for all users, nobody else can replace what this user owns. */
export function removeLeftPipes(parent: string): void {
  for (const name of firstNamesIn(parent, MOST_EXAMINED)) {
    const claim = name.startsWith(`${FOLDER}.`) ? parseClaim(name) : undefined;
    const folder = path.join(parent, name);
    if (claim && isOwnFolder(folder) && isAbandoned(claim, parent)) removed(() => rmSync(folder, { recursive: true }));
  }
}

function isOwnFolder(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === process.getuid?.();
}

async function namelessPipes(parent: string): Promise<number[]> {
  const mkfifo = systemProgram("mkfifo");
  if (mkfifo === undefined) throw new ProgramNotStarted("mkfifo", "it is not in a folder of the system");
  const folder = mkdtempSync(path.join(parent, `${FOLDER}.${runName(ownRun())}.`));
  const names = Array.from({ length: MADE_AT_ONCE }, (_, at) => path.join(folder, String(at)));
  try {
    // Without streams: if it cannot be started because too many files are open, Node leaves its streams open.
    const making = spawn(mkfifo, ["-m", "600", ...names], { env: {}, timeout: MAKING_MS, killSignal: "SIGKILL", stdio: "ignore" });
    await once(making, "exit");
    return openAll(names, (name) => openSync(name, constants.O_RDONLY | constants.O_NONBLOCK));
  } finally {
    // Removes each file by its name. Listing the folder would fail if no more files can be opened.
    for (const name of names) removed(() => unlinkSync(name));
    removed(() => rmdirSync(folder));
  }
}

function removed(remove: () => void): void {
  try {
    remove();
  } catch {
    // It does not exist, or stays until the next server tries.
  }
}

/** Sandboxed commands have their own /dev/shm, but may share /tmp with us. */
function outOfReach(): string {
  return existsSync(MEMORY) ? MEMORY : tmpdir();
}

/** One pool per process: creating pipes costs a program start, reusing them costs nothing. */
export const pipes: Pick<PipePool, "take" | "filledWith"> = new PipePool();
