import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { Duplex, Readable, Writable } from "node:stream";
import { describe, errorCode } from "../lib/errors.js";
import { deferred } from "../lib/promises.js";
import { ProgramNotStarted, SandboxFailed } from "./errors.js";
import type { Descriptor, Launch, ProcessTree, SandboxStatus } from "./launch.js";
import { type Direction, type ProgramEnd, pipes } from "./pipes.js";

/** A running program: a command, or a sandbox around one. */
export interface StartedProgram extends ProcessTree {
  /** Present when requested. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** In a shell's convention: 128 + n for signal n. */
  readonly exitCode: Promise<number>;
  /** The status that the sandbox has reported so far, if there is one. */
  status(): SandboxStatus | undefined;
  /** Resolves when all output has been read. */
  readonly drained: Promise<true>;
  /** Stops reading. */
  close(options: { everythingIsGone: boolean }): void;
}

export interface StartOptions {
  readonly stdin: "none" | "pipe";
  readonly signal: AbortSignal;
}

/** Undefined when it was cancelled before the start. */
export async function startProgram(launch: Launch, { stdin, signal }: StartOptions): Promise<StartedProgram | undefined> {
  const streams = await openStreams(launch, stdin);
  if (signal.aborted) {
    streams.handedOver();
    streams.finish({ reusable: true });
    return undefined;
  }
  const child = spawnWith(launch, streams);
  const exitCode = exitOf(child);
  const ours = streams.of(child);
  if (child.pid === undefined || !ours) {
    streams.finish({ reusable: false });
    await exitCode.catch((error: unknown) => Promise.reject(notStarted(launch, error)));
    throw new ProgramNotStarted(launch.program, "it could not be started");
  }
  const { stdout, stderr } = ours;
  const report = readReport(ours.report);
  const drained = Promise.all([closed(stdout), closed(stderr), report.closed]).then((): true => true);
  return {
    stdin: ours.stdin,
    stdout,
    stderr,
    pid: child.pid,
    containment: launch.containment,
    exitCode,
    status: () => launch.sandbox?.readStatus(report.text()),
    firstProcess: () => launch.sandbox?.readStatus(report.text()).firstProcess,
    drained,
    close: ({ everythingIsGone }) => {
      for (const stream of [stdout, stderr, ours.stdin]) stream?.destroy();
      streams.finish({ reusable: everythingIsGone });
    },
  };
}

/** The connections of a program's descriptors with this process. */
interface ProgramStreams {
  /** The `stdio` option for `spawn`. */
  readonly ends: readonly StreamEnd[];
  /** Undefined when the program could not be started. */
  of(child: ChildProcess): OurSide | undefined;
  /** Called when the program has its ends, or failed to start. */
  handedOver(): void;
  finish(options: { reusable: boolean }): void;
}

type StreamEnd = "pipe" | "ignore" | number;

interface OurSide {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly report: Readable | undefined;
}

interface Connection {
  readonly end: StreamEnd;
  /** Undefined if this process has no end, or if Node creates both ends. */
  readonly ourEnd?: Duplex | undefined;
}

/** Opens all streams of a program. If one cannot be opened, none stays open. */
async function openStreams(launch: Launch, stdin: StartOptions["stdin"]): Promise<ProgramStreams> {
  const opened: ProgramEnd[] = [];
  const handedOver = () => {
    for (const pipe of opened) pipe.handedOver();
  };
  const finish: ProgramStreams["finish"] = (options) => {
    for (const pipe of opened) pipe.finish(options);
  };
  const connect = async (direction: Direction): Promise<Connection> => {
    const pipe = await pipes.take(direction);
    if (pipe) opened.push(pipe);
    return { end: pipe?.programEnd ?? "pipe", ourEnd: pipe?.ourEnd };
  };
  const connectFurther = async (descriptor: Descriptor): Promise<Connection> => {
    if (descriptor.kind === "open") return { end: descriptor.fd };
    if (descriptor.kind === "status") return connect("fromProgram");
    const filled = await pipes.filledWith(descriptor.bytes);
    if (!filled) return connect("toProgram");
    opened.push(filled);
    return { end: filled.programEnd };
  };
  try {
    const connections: Connection[] = [stdin === "pipe" ? await connect("toProgram") : { end: "ignore" }];
    for (const direction of ["fromProgram", "fromProgram"] as const) connections.push(await connect(direction));
    for (const descriptor of launch.descriptors) connections.push(await connectFurther(descriptor));
    return { ends: connections.map(({ end }) => end), of: (child) => ourSide(launch, connections, child), handedOver, finish };
  } catch (error) {
    handedOver();
    finish({ reusable: false });
    throw notStarted(launch, error);
  }
}

function ourSide({ descriptors }: Launch, connections: readonly Connection[], child: ChildProcess): OurSide | undefined {
  // A child that could not be started may have no list of streams.
  if (child.pid === undefined) return undefined;
  const [stdin, stdout, stderr, ...further] = connections.map(({ ourEnd }, at) => ourEnd ?? child.stdio[at]);
  // A program that has ended no longer reads its input; its exit code is the result.
  for (const stream of [stdin, ...further]) stream?.on("error", () => {});
  for (const [at, descriptor] of descriptors.entries()) {
    const input = further[at];
    if (descriptor.kind === "bytes" && isWritable(input)) input.end(descriptor.bytes);
  }
  const report = further[descriptors.findIndex(({ kind }) => kind === "status")];
  if (!isReadable(stdout) || !isReadable(stderr)) return undefined;
  return { stdin: isWritable(stdin) ? stdin : undefined, stdout, stderr, report: isReadable(report) ? report : undefined };
}

function isReadable(stream: Readable | Writable | null | undefined): stream is Readable {
  return stream instanceof Readable;
}

function isWritable(stream: Readable | Writable | null | undefined): stream is Writable {
  return stream instanceof Duplex || stream instanceof Writable;
}

function spawnWith(launch: Launch, streams: ProgramStreams): ChildProcess {
  try {
    return spawn(launch.program, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      // A process group and session of its own: no terminal, and signals reach the whole group.
      detached: true,
      stdio: withoutStrays(streams.ends),
    });
  } catch (error) {
    streams.finish({ reusable: false });
    throw notStarted(launch, error);
  } finally {
    streams.handedOver();
  }
}

function withoutStrays(ends: readonly StreamEnd[]): StreamEnd[] {
  const last = Math.max(ends.length - 1, ...strayDescriptors().keys());
  return Array.from({ length: last + 1 }, (_, fd) => ends[fd] ?? strayDescriptors().get(fd) ?? "ignore");
}

interface Report {
  text(): string;
  readonly closed: Promise<void>;
}

/** Enough for a sandbox's report, and bounded in case a command gets hold of the descriptor. */
const LONGEST_REPORT = 4096;

function readReport(stream: Readable | undefined): Report {
  let text = "";
  if (!stream) return { text: () => text, closed: Promise.resolve() };
  stream.on("data", (chunk: Buffer) => {
    if (text.length < LONGEST_REPORT) text += chunk.toString("latin1");
  });
  return { text: () => text, closed: closed(stream) };
}

function exitOf(child: ChildProcess): Promise<number> {
  const exit = deferred<number>();
  child.once("error", (error) => exit.reject(error));
  child.once("exit", (code, signal) => exit.resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  // Callers that await get the failure; until then it must not count as unhandled.
  exit.promise.catch(() => {});
  return exit.promise;
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
}

function notStarted({ program, sandbox }: Launch, error: unknown): Error {
  const reason = REASONS[errorCode(error) ?? ""] ?? describe(error);
  const gone = errorCode(error) === "ENOENT" || errorCode(error) === "EACCES";
  return sandbox && gone ? new SandboxFailed(`${program}: ${reason}`) : new ProgramNotStarted(program, reason);
}

const TOO_MANY_FILES = "Too many open files; raise the limit of open files (ulimit -n), or run fewer commands at the same time";
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "No such file or directory",
  EACCES: "Permission denied",
  E2BIG: "Argument list too long",
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
};

const O_CLOEXEC = 0o2000000;

let strays: ReadonlyMap<number, number> | undefined;

/**
 * Descriptors that this process inherited unknowingly and would pass on to every command, with an empty one to replace them. Node sets
 * close-on-exec only up to the first gap in the numbers; an editor's socket above it would be a way out of the sandbox.
 */
function strayDescriptors(): ReadonlyMap<number, number> {
  strays ??= findStrays();
  return strays;
}

function findStrays(): ReadonlyMap<number, number> {
  const found = openDescriptors().filter((fd) => fd > 2 && isInherited(fd));
  if (found.length === 0) return new Map();
  const nothing = openSync("/dev/null", "r");
  return new Map(found.map((fd) => [fd, nothing]));
}

function openDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fdinfo").map(Number);
  } catch {
    return [];
  }
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false;
  }
}
