import { readdirSync, readFileSync } from "node:fs";

/** The resources of processes, as Linux reports them. Elsewhere every figure is NaN, which the tables leave out. */

const MS_PER_TICK = 10;
const NS_PER_MS = 1e6;
const KIB_PER_MIB = 1024;

export function processIds(): number[] {
  return process.platform === "linux" ? readdirSync("/proc").map(Number).filter(Number.isInteger) : [];
}

/** CPU time of a process, its descendants, and those of them that have ended and were reaped. */
export function treeCpuMs(pid: number): number {
  return sumOverTree(pid, cpuMs);
}

/** CPU time of this process alone. */
export function ownCpuMs(pid: number): number {
  return process.platform === "linux" ? cpuMs(pid) : Number.NaN;
}

/** How long the main thread of a process was ready to run while other processes had the cores. */
export function waitedForCoreMs(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(waitedNs) / NS_PER_MS;
}

export function treeRssMiB(pid: number): number {
  return sumOverTree(pid, residentMiB);
}

/** Resident memory of this process alone. */
export function ownRssMiB(pid: number): number {
  return process.platform === "linux" ? residentMiB(pid) : Number.NaN;
}

/** The sum of the peaks of all processes of the tree. */
export function treePeakRssMiB(pid: number): number {
  return sumOverTree(pid, (one) => kibOf(`/proc/${one}/status`, "VmHWM") / KIB_PER_MIB);
}

/** The CPU time of the whole machine since it started. */
export function machineCpuMs(): number {
  if (process.platform !== "linux") return Number.NaN;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = readFileSync("/proc/stat", "utf8")
    .split(/\s+/, 8)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq) * MS_PER_TICK;
}

function sumOverTree(root: number, figure: (pid: number) => number): number {
  if (process.platform !== "linux") return Number.NaN;
  return treeOf(root).reduce((sum, pid) => sum + orWhenGone(() => figure(pid), 0), 0);
}

function treeOf(root: number): number[] {
  const parents = new Map(processIds().map((pid) => [pid, orWhenGone(() => statOf(pid).parent, 0)]));
  const tree = [root];
  for (const member of tree) for (const [pid, parent] of parents) if (parent === member) tree.push(pid);
  return tree;
}

function orWhenGone<T>(look: () => T, fallback: T): T {
  try {
    return look();
  } catch {
    return fallback;
  }
}

// The process's own time comes in ticks, too coarse for a turn of a millisecond, but includes threads that have ended. The threads' times
// come in nanoseconds. Both cover the same work, so the larger one is more accurate.
function cpuMs(pid: number): number {
  const { ownTicks, reapedTicks } = statOf(pid);
  const threadsMs = readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + orWhenGone(() => threadCpuMs(pid, thread), 0), 0);
  return Math.max(ownTicks * MS_PER_TICK, threadsMs) + reapedTicks * MS_PER_TICK;
}

function threadCpuMs(pid: number, thread: string): number {
  return Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8"), 10) / NS_PER_MS;
}

function statOf(pid: number): { parent: number; ownTicks: number; reapedTicks: number } {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in parentheses may contain blanks; the fields after it are numbered from 3 in proc(5).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { parent: field(4), ownTicks: field(14) + field(15), reapedTicks: field(16) + field(17) };
}

function residentMiB(pid: number): number {
  return kibOf(`/proc/${pid}/smaps_rollup`, "Rss") / KIB_PER_MIB;
}

function kibOf(file: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(file, "utf8"))?.[1] ?? 0);
}
