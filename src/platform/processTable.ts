import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The kernel's table of processes. Empty where there is no `/proc`. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In clock ticks since boot; with the pid it names one run of one process. */
  readonly startTime: string;
}

/** Killed, and not yet collected by its parent. */
const GONE_STATES = new Set(["Z", "X"]);

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** A living process, or undefined. */
export function livingProcess(pid: number): ProcessEntry | undefined {
  // Mostly asked of a process that is gone, for which an error would be made.
  if (!existsSync(`/proc/${pid}`)) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (GONE_STATES.has(fields[0] ?? "X")) return undefined;
    return { pid, parent: Number(fields[1]), group: Number(fields[2]), startTime: fields[19] ?? "0" };
  } catch {
    return undefined;
  }
}

export function livingProcesses(): ProcessEntry[] {
  return processIds().flatMap((pid) => livingProcess(pid) ?? []);
}

/** All living descendants, nearest first. */
export function descendantsOf(pid: number): ProcessEntry[] {
  const living = livingProcesses();
  const found: ProcessEntry[] = [];
  for (let parents = new Set([pid]); parents.size > 0; ) {
    const children = living.filter(({ parent }) => parents.has(parent));
    found.push(...children);
    parents = new Set(children.map((child) => child.pid));
  }
  return found;
}

/** The environment a process was started with; empty when it may not be read. */
export function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** The words a process was started with; empty when they may not be read. */
export function commandLineOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/\0$/, "").split("\0");
  } catch {
    return [];
  }
}

/** The folder a process works in. */
export function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** More than any honest chain of programs has. */
const MOST_ANCESTORS = 64;

/**
 * The processes that this one descends from, nearest first, as far as its namespace shows them. Begins with what `/proc` says of this process:
 * its table may count in other numbers than the process itself.
 */
export function* ancestorsOfThisProcess(): Iterable<number> {
  let pid = ownNumber();
  for (let steps = 0; steps < MOST_ANCESTORS && pid !== undefined; steps++) {
    const parent = livingProcess(pid)?.parent;
    if (!parent) return;
    yield parent;
    pid = parent;
  }
}

function ownNumber(): number | undefined {
  try {
    return Number(readlinkSync("/proc/self"));
  } catch {
    return undefined;
  }
}

/** Names this run of this process, and whose process numbers it counts in. */
export function ownIdentity(): string {
  return `${pidNamespace()}-${process.pid}-${livingProcess(process.pid)?.startTime ?? "0"}`;
}

/** Whether the process that gave itself this name is known to be over; one that counts in other numbers is not. */
export function isOver(identity: string): boolean {
  const [namespace, pid, startTime] = identity.split("-");
  if (namespace !== pidNamespace() || pid === undefined) return false;
  return livingProcess(Number(pid))?.startTime !== startTime;
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "");
  } catch {
    return "0";
  }
}
