import { readdirSync, readFileSync, statSync } from "node:fs";
import { descendantsOf } from "../platform/processes.js";
import { ProgramNotStarted } from "./errors.js";
import { killAtOnce } from "./killTree.js";
import type { ProcessTree } from "./launch.js";
import { systemProgram } from "./outside/systemPrograms.js";

/** What one command may use, together with everything it starts. Undefined: as much as the system gives. */
export interface CommandLimits {
  /** At once. */
  readonly processes?: number | undefined;
  /** Of all its processes together. */
  readonly threads?: number | undefined;
  /** `/dev/shm` of a sandboxed command. */
  readonly sharedMemoryBytes?: number | undefined;
  /** The largest file that it may write. */
  readonly fileBytes?: number | undefined;
  /** Of each process. V8, Go and the JVM reserve far more than they use. */
  readonly addressSpaceBytes?: number | undefined;
}

/** The command with limits that the kernel holds for each process. It costs the start of one more program, so that nothing is put around a command without them. */
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

/** A command that forks as fast as it can has some thousand processes by then. */
const LOOK_EVERY_MS = 100;
/** On a machine with many processes of others; in between, how many there are on the whole machine tells that nothing happens. */
const COUNT_EVERY_MS = 2_000;

type RunningTree = Omit<ProcessTree, "exitCode">;

interface WatchedTree {
  readonly tree: RunningTree;
  readonly most: Pick<CommandLimits, "processes" | "threads">;
  readonly stop: (why: string) => void;
  counted: { readonly onMachine: number; readonly at: number } | undefined;
}

const watched = new Set<WatchedTree>();
let timer: NodeJS.Timeout | undefined;

/**
 * Ends a command that has more processes or threads than it may, until the returned function is called. The kernel's own limit counts all processes of the
 * user, and none of root's; a cgroup can seldom be written. One timer serves all commands, and a command that ends before its first tick costs nothing.
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

/** Must take little time: among thousands of processes that run, ours gets a slice of a few milliseconds, and seconds later the next. */
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

/** All threads on the machine are fewer, or not many have been added since the last count. */
function mayHaveTooMany({ most: { processes = Infinity, threads = Infinity }, counted }: WatchedTree, onMachine: number): boolean {
  const most = Math.min(processes, threads);
  if (onMachine <= most) return false;
  return !counted || performance.now() - counted.at > COUNT_EVERY_MS || onMachine - counted.onMachine > most / 4;
}

function excessOf(
  tree: RunningTree,
  { processes = Infinity, threads = Infinity }: WatchedTree["most"],
  onMachine: number,
): string | undefined {
  const folders = processesOf(tree);
  if (folders.length > processes) return `${processes} processes (mcp_server.commands.max_processes)`;
  if (onMachine <= threads || sum(folders.map(threadsIn)) <= threads) return undefined;
  return `${threads} threads (mcp_server.commands.max_threads)`;
}

/** Of all users and containers; none where the system does not tell. */
function tasksOnMachine(): number {
  try {
    return Number(/ \d+\/(\d+) /.exec(readFileSync("/proc/loadavg", "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** By their folders in /proc. The table of processes that a command in a namespace sees has nothing in it but its own. */
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

/** Each thread is a folder in there, with a link to the one around it. */
function threadsIn(folder: string): number {
  return (statSync(`${folder}/task`, { throwIfNoEntry: false })?.nlink ?? 2) - 2;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
