import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { processIds } from "./procfs.js";

const MARK = "CODEX_MCPD_BENCH";
const ERRORS_KEPT = 2_000;
const EOF_PATIENCE_MS = 1_500;
const TERM_PATIENCE_MS = 500;

export interface ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
  /** Resolves when the process is gone, with a sentence about how it ended. */
  readonly ended: Promise<string>;
  /** Closes its input, then kills it; resolves when it and all its children are gone. */
  end(): Promise<void>;
}

/** The processes of this run. Each has a mark in its environment, and so do its children, wherever they end up. */
export class Processes {
  readonly #running = new Set<ChildProcessWithoutNullStreams>();
  #started = 0;

  start(command: readonly [string, ...string[]], options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }): ServerProcess {
    const [file, ...args] = command;
    const mark = `${process.pid}-${++this.#started}`;
    const child = spawn(file, args, { cwd: options.cwd, env: { ...options.env, [MARK]: mark }, stdio: "pipe" });
    this.#running.add(child);
    const ended = endOf(child).finally(() => this.#running.delete(child));
    return { child, pid: child.pid ?? 0, ended, end: () => end({ child, ended, mark }) };
  }

  /** Kills everything at once, for a run that is cut short. */
  killAll(): void {
    for (const child of this.#running) child.kill("SIGKILL");
    killMarked((mark) => mark.startsWith(`${process.pid}-`));
  }
}

function endOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors = (errors + chunk).slice(-ERRORS_KEPT);
  });
  // A server that ends early breaks the pipe; how it ended is reported below.
  child.stdin.on("error", () => undefined);
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) => resolve(`ended with ${signal ?? `code ${code}`} ${errors.trim()}`));
  });
}

async function end({ child, ended, mark }: { child: ChildProcessWithoutNullStreams; ended: Promise<string>; mark: string }): Promise<void> {
  child.stdin.end();
  if (!(await settlesWithin(ended, EOF_PATIENCE_MS))) child.kill("SIGTERM");
  if (!(await settlesWithin(ended, TERM_PATIENCE_MS))) child.kill("SIGKILL");
  await ended;
  killMarked((found) => found === mark);
}

function killMarked(isMeant: (mark: string) => boolean): void {
  for (const pid of processIds()) {
    const mark = markOf(pid);
    if (mark === undefined || !isMeant(mark)) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended between the look-up and the signal.
    }
  }
}

function markOf(pid: number): string | undefined {
  try {
    const entry = readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .find((text) => text.startsWith(`${MARK}=`));
    return entry?.slice(MARK.length + 1);
  } catch {
    return undefined;
  }
}

async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return Promise.race([promise.then(() => true), late]).finally(() => clearTimeout(timer));
}
