import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "../../lib/errors.js";

/** Names one run of one process: a pid alone is given out again. */
export interface ProcessRun {
  /** The machine, and the container on it: pids of another one say nothing here. */
  readonly place: string;
  readonly pid: number;
  /** In the kernel's clock ticks since boot; "0" where the system does not tell. */
  readonly startTime: string;
}

let own: ProcessRun | undefined;

export function ownRun(): ProcessRun {
  own ??= { place: ownPlace(), pid: process.pid, startTime: statOf(process.pid)?.startTime ?? "0" };
  return own;
}

/** For a run at our own place. When in doubt it is running, since two writers are worse than a refused one. */
export function isRunning({ pid, startTime }: ProcessRun): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false;
  }
  const stat = statOf(pid);
  if (!stat || startTime === "0") return true;
  return stat.startTime === startTime && !GONE_STATES.has(stat.state);
}

/** Killed, and not yet collected by its parent. */
const GONE_STATES = new Set(["Z", "X"]);

function statOf(pid: number): { state: string; startTime: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, startTime] = [fields[0], fields[19]];
    return state !== undefined && startTime !== undefined ? { state, startTime } : undefined;
  } catch {
    return undefined;
  }
}

function ownPlace(): string {
  return `${hostname().replaceAll(/[^A-Za-z0-9-]/g, "_")}-${pidNamespace()}`;
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "");
  } catch {
    return "0";
  }
}
