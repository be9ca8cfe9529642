import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runToEnd } from "../support/processes/runToEnd.js";
import type { ClientStart } from "./client.js";

const BEFORE_MS = 60_000;
/** An interrupted client is interrupted a second time, then killed. */
const INTERRUPT_MS = 6_000;
const KEPT_OUTPUT = 4_000;

export interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  /** Resolves when Ctrl-C should be sent; the end of the run also ends it. */
  readonly interruptWhen?: (signal: AbortSignal) => Promise<void>;
}

export interface ClientEnd {
  readonly code: number | null;
  /** Whether it was still running at its deadline. */
  readonly overdue: boolean;
  /** The end of its output. */
  readonly output: string;
}

/** Writes the client's files and runs it once, in a process group that is ended afterwards. */
export async function runClient(start: ClientStart, options: RunOptions): Promise<ClientEnd> {
  for (const [file, text] of Object.entries(start.files ?? {})) {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const where = { cwd: options.cwd, env: { ...options.env, ...start.env } };
  for (const command of start.before ?? []) await runToEnd(command, { ...where, timeoutMs: BEFORE_MS });
  const [program, ...args] = start.command;
  const child = spawn(program, args, { ...where, stdio: ["pipe", "pipe", "pipe"], detached: true });
  // The client may have ended without reading its input.
  child.stdin.on("error", () => {});
  child.stdin.end(start.stdin ?? "");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output = (output + part).slice(-KEPT_OUTPUT)));
  const ended = new AbortController();
  const end = endOf(child).finally(() => ended.abort());
  const deadline = AbortSignal.timeout(options.deadlineMs);
  if (options.interruptWhen) await interrupted(child, end, options.interruptWhen(AbortSignal.any([ended.signal, deadline])));
  const overdue = await Promise.race([end.then(() => false), reached(deadline).then(() => true)]);
  endGroup(child);
  return { code: await end, overdue, output };
}

async function interrupted(child: ChildProcess, end: Promise<unknown>, when: Promise<void>): Promise<void> {
  await when;
  for (const signal of ["SIGINT", "SIGINT", "SIGTERM"] as const) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    signalGroup(child, signal);
    await Promise.race([end, sleep(INTERRUPT_MS)]);
  }
}

/** The output is complete when the client ends; the test does not wait for a grandchild that keeps the pipes open. */
async function endOf(child: ChildProcess): Promise<number | null> {
  await Promise.race([once(child, "exit"), once(child, "error")]).catch(() => {});
  return child.exitCode;
}

function reached(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}

function endGroup(child: ChildProcess): void {
  signalGroup(child, "SIGKILL");
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The whole group has ended.
  }
}
