import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { describe, errorCode } from "../lib/errors.js";
import { deferred } from "../lib/promises.js";
import { ProgramNotStarted, SandboxFailed } from "./errors.js";
import type { Launch, ProcessTree, SandboxStatus } from "./launch.js";
import { type OurSide, openStandardStreams, type StandardStreams, type StreamEnd } from "./pipes.js";

/** A running program: a command, or a sandbox around one. */
export interface StartedProgram extends ProcessTree, OurSide {
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
  const texts = launch.descriptors.map((descriptor) => (descriptor.kind === "bytes" ? descriptor.bytes : undefined));
  const standard = await openStandardStreams({ stdin, texts });
  if (signal.aborted) {
    standard.handedOver();
    standard.finish({ reusable: true });
    return undefined;
  }
  const child = spawnWith(launch, standard);
  const exitCode = exitOf(child);
  feed(launch, child);
  const streams = standard.of(child);
  if (child.pid === undefined || !streams) {
    standard.finish({ reusable: false });
    await exitCode.catch((error: unknown) => Promise.reject(notStarted(launch, error)));
    throw new ProgramNotStarted(launch.program, "it could not be started");
  }
  const report = readReport(launch, child);
  const { stdout, stderr } = streams;
  const drained = Promise.all([closed(stdout), closed(stderr), report.closed]).then((): true => true);
  return {
    ...streams,
    pid: child.pid,
    containment: launch.containment,
    exitCode,
    status: () => launch.sandbox?.readStatus(report.text()),
    firstProcess: () => launch.sandbox?.readStatus(report.text()).firstProcess,
    drained,
    close: ({ everythingIsGone }) => {
      for (const stream of [stdout, stderr, streams.stdin]) stream?.destroy();
      standard.finish({ reusable: everythingIsGone });
    },
  };
}

function spawnWith(launch: Launch, standard: StandardStreams): ChildProcess {
  try {
    return spawn(launch.program, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      // A process group and session of its own: no terminal, and signals reach the whole group.
      detached: true,
      stdio: withoutStrays([
        ...standard.ends,
        ...launch.descriptors.map((descriptor, at) => (descriptor.kind === "open" ? descriptor.fd : (standard.texts[at] ?? "pipe"))),
      ]),
    });
  } catch (error) {
    standard.finish({ reusable: false });
    throw notStarted(launch, error);
  } finally {
    standard.handedOver();
  }
}

function withoutStrays(ends: readonly StreamEnd[]): StreamEnd[] {
  const last = Math.max(ends.length - 1, ...strayDescriptors().keys());
  return Array.from({ length: last + 1 }, (_, fd) => ends[fd] ?? strayDescriptors().get(fd) ?? "ignore");
}

function feed({ descriptors }: Launch, child: ChildProcess): void {
  for (const [at, descriptor] of descriptors.entries()) {
    const stream = child.stdio[3 + at];
    // A program that has ended no longer reads its input; its exit code is the result.
    stream?.on("error", () => {});
    if (descriptor.kind === "bytes" && stream && "write" in stream) stream.end(descriptor.bytes);
  }
}

interface Report {
  text(): string;
  readonly closed: Promise<void>;
}

/** Enough for a sandbox's report, and bounded in case a command gets hold of the descriptor. */
const LONGEST_REPORT = 4096;

function readReport({ descriptors }: Launch, child: ChildProcess): Report {
  const at = descriptors.findIndex(({ kind }) => kind === "status");
  const stream = at < 0 ? undefined : child.stdio[3 + at];
  let text = "";
  if (!stream || !("read" in stream)) return { text: () => text, closed: Promise.resolve() };
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

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "No such file or directory",
  EACCES: "Permission denied",
  E2BIG: "Argument list too long",
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
