import { readdirSync, readFileSync, statSync } from "node:fs";
import { descendantsOf } from "../platform/processes.js";
import { ProgramNotStarted } from "./errors.js";
import { killAtOnce } from "./killTree.js";
import type { ProcessTree } from "./launch.js";
import { systemProgram } from "./outside/outsidePrograms.js";

/** The resource limits of one command, including everything it starts. Undefined: the system's limits apply. */
export interface CommandLimits {
  /** Simultaneously. */
  readonly processes?: number | undefined;
  /** Over all its processes. */
  readonly threads?: number | undefined;
  /** The size of `/dev/shm` for a sandboxed command. */
  readonly sharedMemoryBytes?: number | undefined;
  /** The largest file it may write. */
  readonly fileBytes?: number | undefined;
  /** Per process. V8, Go and the JVM reserve far more than they use. */
  readonly addressSpaceBytes?: number | undefined;
}

/**
 * Wraps the command so that the kernel enforces the limits for each process. This costs one more program start, so a command without such
 * limits is not wrapped.
 */
export function withResourceLimits(argv: readonly string[], { fileBytes, addressSpaceBytes }: CommandLimits): readonly string[] {
  const limits = [
    ...(fileBytes === undefined ? [] : [`--fsize=${fileBytes}`]),
    ...(addressSpaceBytes === undefined ? [] : [`--as=${addressSpaceBytes}`]),
  ];
  if (limits.length === 0) return argv;
  const prlimit = systemProgram("prlimit");
  if (prlimit === undefined)
    throw new ProgramNotStarted("prlimit", "it is needed for the limits in mcp_server.commands, and is not in a folder of the system");
  return [prlimit, ...limits, "--", ...argv];
}

/** A command that forks as fast as possible has some thousand processes by then. */
const LOOK_EVERY_MS = 100;
/** The interval on a machine with many other processes. In between, the machine's total number of tasks shows whether anything changed. */
const COUNT_EVERY_MS = 2_000;

type RunningTree = Omit<ProcessTree, "exitCode">;

interface WatchedTree {
  readonly tree: RunningTree;
  readonly most: Pick<CommandLimits, "processes" | "threads">;
  readonly stop: (why: string) => void;
  counted: { readonly onMachine: number | undefined; readonly at: number } | undefined;
}

const watched = new Set<WatchedTree>();
let timer: NodeJS.Timeout | undefined;

/**
 * Ends a command with too many processes or threads, until the returned function is called. The kernel's own limit counts all processes of
 * the user and does not apply to root, and cgroups are seldom writable. One timer serves all commands; a command that ends before its first
 * tick costs nothing.
 */
export function limitProcesses(tree: RunningTree, { most, stop }: Pick<WatchedTree, "most" | "stop">): () => void {
  const entry: WatchedTree = { tree, most, stop, counted: undefined };
  watched.add(entry);
  timer ??= setInterval(lookAtAll, LOOK_EVERY_MS).unref();
  return () => {
    watched.delete(entry);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/**
 * Must be quick: among thousands of running processes, this one gets a time slice of a few milliseconds, and the next one seconds later.
 */
function lookAtAll(): void {
  const onMachine = tasksOnMachine();
  for (const entry of watched) {
    const { tree, most, stop } = entry;
    if (!mayHaveTooMany(entry, onMachine)) continue;
    const excess = excessOf(tree, most, onMachine);
    entry.counted = { onMachine, at: performance.now() };
    if (excess === undefined) continue;
    killAtOnce(tree);
    watched.delete(entry);
    stop(`it had more than ${excess}`);
  }
}

/** False when the whole machine has fewer threads, or few were added since the last count. */
function mayHaveTooMany(
  { most: { processes = Infinity, threads = Infinity }, counted }: WatchedTree,
  onMachine: number | undefined,
): boolean {
  if (onMachine === undefined) return true;
  const most = Math.min(processes, threads);
  if (onMachine <= most) return false;
  return !counted || performance.now() - counted.at > COUNT_EVERY_MS || onMachine - (counted.onMachine ?? 0) > most / 4;
}

function excessOf(
  tree: RunningTree,
  { processes = Infinity, threads = Infinity }: WatchedTree["most"],
  onMachine: number | undefined,
): string | undefined {
  const folders = processesOf(tree);
  if (folders.length > processes) return `${processes} processes (mcp_server.commands.max_processes)`;
  if ((onMachine ?? Infinity) <= threads || sum(folders.map(threadsIn)) <= threads) return undefined;
  return `${threads} threads (mcp_server.commands.max_threads)`;
}

/** Over all users and containers. Undefined where the system does not report it: some container runtimes hide the file or say 0. */
function tasksOnMachine(): number | undefined {
  try {
    return Number(/ \d+\/(\d+) /.exec(readFileSync("/proc/loadavg", "latin1"))?.[1]) || undefined;
  } catch {
    return undefined;
  }
}

/** The processes' folders in /proc. The /proc of a command in a namespace contains only its own processes. */
function processesOf({ pid, firstProcess }: RunningTree): string[] {
  const table = `/proc/${firstProcess() ?? "none"}/root/proc`;
  try {
    return readdirSync(table)
      .filter((name) => /^\d/.test(name))
      .map((name) => `${table}/${name}`);
  } catch {
    return descendantsOf(pid).map((entry) => `/proc/${entry.pid}`);
  }
}

/** Each thread is a folder, and adds a link to its parent folder. */
function threadsIn(folder: string): number {
  return (statSync(`${folder}/task`, { throwIfNoEntry: false })?.nlink ?? 2) - 2;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
