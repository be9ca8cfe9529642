import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { valueWithin } from "../lib/promises.js";
import { descendantsOf, environmentOf, livingProcess, livingProcesses } from "../platform/processes.js";
import { carriesMark, leftoverProcesses, processesWithMark } from "./commandMark.js";
import type { ProcessTree } from "./launch.js";

/** How long a process may take to end after SIGTERM. */
const GRACE_MS = 400;
/** Only a process stuck in the kernel survives SIGKILL for longer. */
const GONE_AFTER_MS = 2_000;
/** Ending many thousands of processes takes the kernel some time. */
const ENDED_MANY_AFTER_MS = 20_000;
const LOOK_EVERY_MS = 1;
/** A process that is about to end is gone after a few turns of the event loop, long before a timer fires. */
const QUICK_LOOKS = 50;

/** Sends SIGTERM to everything, then SIGKILL to what remains. Resolves when no process is left. */
export async function killTree(tree: ProcessTree): Promise<void> {
  signalMembers(tree, "SIGTERM");
  const ended = tree.exitCode.then(
    () => true,
    () => true,
  );
  if (!(await valueWithin(GRACE_MS, ended, false))) signalMembers(tree, "SIGKILL");
  // A sandbox whose first process is gone ends by itself; one that was killed during set-up does not.
  if (!(await valueWithin(GRACE_MS, ended, false))) signal(-tree.pid, "SIGKILL");
  await valueWithin(GONE_AFTER_MS, ended, false);
  await endStragglers(tree);
}

/** Sends SIGKILL to everything and does not wait. The first process of a namespace takes all others with it, however many they are. */
export function killAtOnce({ pid, containment, firstProcess }: Omit<ProcessTree, "exitCode">): void {
  const first = firstProcess();
  if (first !== undefined) for (const member of stillFirst(first, containment.mark)) signal(member, "SIGKILL");
  else if (containment.kind === "namespace") for (const member of membersDuringSetUp(pid, containment.mark)) signal(member, "SIGKILL");
  else for (const member of stragglersOf(pid, containment.mark)) signal(member, "SIGKILL");
  signal(-pid, "SIGKILL");
}

/** Sends SIGKILL to everything. Resolves when no process is left. */
export async function endAtOnce(tree: ProcessTree): Promise<void> {
  killAtOnce(tree);
  const ended = tree.exitCode.then(
    () => true,
    () => true,
  );
  await valueWithin(ENDED_MANY_AFTER_MS, ended, false);
  await endStragglers(tree);
}

const living = new Set<Omit<ProcessTree, "exitCode">>();

/**
 * Ends a program at the latest when this process exits, when no time is left for SIGTERM. The returned function is to be called when no
 * process of it is left. If this process is killed with SIGKILL, only a namespace has the same effect.
 */
export function endWithUs(tree: Omit<ProcessTree, "exitCode">): () => void {
  if (living.size === 0) process.once("exit", endAllAtOnce);
  living.add(tree);
  return () => {
    living.delete(tree);
    if (living.size === 0) process.off("exit", endAllAtOnce);
  };
}

/** Blocks this process, which is about to exit. */
const LAST_WAIT_MS = 200;

/** Called when this process exits. Returns when all registered programs have ended. */
export function endAllAtOnce(): void {
  for (const tree of living) killAtOnce(tree);
  const until = performance.now() + LAST_WAIT_MS;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  const remains = () => [...living].some(({ pid, firstProcess }) => livingProcess(firstProcess() ?? pid));
  while (remains() && performance.now() < until) Atomics.wait(clock, 0, 0, LOOK_EVERY_MS);
  living.clear();
}

/**
 * Kills what remains after a command's own end. In a process group, processes that the command started may remain. In a namespace nothing
 * remains, unless the sandbox program was killed during set-up. False when some process survives.
 */
export async function endStragglers({ pid, containment, firstProcess }: Omit<ProcessTree, "exitCode">): Promise<boolean> {
  const remaining = () => {
    if (containment.kind === "group") return stragglersOf(pid, containment.mark);
    const first = firstProcess();
    return first === undefined ? processesWithMark(containment.mark) : stillFirst(first, containment.mark);
  };
  const until = performance.now() + GONE_AFTER_MS;
  let looks = 0;
  let left = remaining();
  for (; left.length > 0 && performance.now() < until; left = remaining()) {
    for (const straggler of left) signal(straggler, "SIGKILL");
    await (looks++ < QUICK_LOOKS ? nextTurn() : sleep(LOOK_EVERY_MS));
  }
  return left.length === 0;
}

/** A process may fork between the reading of /proc and its own end, so the search is repeated until it finds nothing new. */
const MOST_SWEEPS = 20;

/** Ends processes that commands of dead servers left running. Returns their number. */
export function sweepLeftovers(): number {
  const ended = new Set<number>();
  for (let sweeps = 0; sweeps < MOST_SWEEPS; sweeps++) {
    const found = leftoverProcesses().filter((pid) => !ended.has(pid));
    if (found.length === 0) break;
    for (const pid of found) {
      signal(pid, "SIGKILL");
      ended.add(pid);
    }
  }
  return ended.size;
}

function signalMembers({ pid, containment }: ProcessTree, name: "SIGTERM" | "SIGKILL"): void {
  if (containment.kind === "group") {
    signal(-pid, name);
    return;
  }
  // The outermost process is the sandbox program: SIGTERM would make it end the others before they can clean up.
  for (const member of descendantsOf(pid)) signal(member.pid, name);
}

/**
 * The first process of a namespace. Empty if it has ended, even if another process has its number now, which shows in the environment. A process
 * that is just ending has none.
 */
function stillFirst(pid: number, mark: string): number[] {
  if (!livingProcess(pid)) return [];
  const variables = environmentOf(pid).filter((variable) => variable !== "");
  return variables.length === 0 || variables.some((variable) => variable.includes(mark)) ? [pid] : [];
}

/** If the sandbox program died during set-up, the first process of its namespace is no descendant any more, but it has the mark. */
function membersDuringSetUp(pid: number, mark: string): number[] {
  return [...descendantsOf(pid).map((member) => member.pid), ...processesWithMark(mark)];
}

/** Without /proc, processes that left the group are not found. */
function stragglersOf(group: number, mark: string): number[] {
  const everything = livingProcesses();
  if (everything.length === 0) return signal(-group, 0) ? [-group] : [];
  return everything.filter((entry) => entry.group === group || carriesMark(entry.pid, mark)).map(({ pid }) => pid);
}

/** Whether a process received the signal. */
function signal(pid: number, name: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
