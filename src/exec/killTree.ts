import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { valueWithin } from "../lib/promises.js";
import { descendantsOf, environmentOf, isRunning, livingProcess, livingProcesses, ownRun, parseRun } from "../platform/processes.js";
import type { ProcessTree } from "./launch.js";

/** How long a process that was asked to end may take. */
const GRACE_MS = 400;
/** Only a process that hangs in the kernel lives longer than that after it was killed. */
const GONE_AFTER_MS = 2_000;
/** The kernel needs a moment for each of many thousands. */
const ENDED_MANY_AFTER_MS = 20_000;
const LOOK_EVERY_MS = 1;
/** What is about to end is gone after a few turns of the event loop, long before a timer. */
const QUICK_LOOKS = 50;

/** Asks everything to end, and ends what does not. Resolves when nothing lives any more. */
export async function killTree(tree: ProcessTree): Promise<void> {
  signalMembers(tree, "SIGTERM");
  const ended = tree.exitCode.then(
    () => true,
    () => true,
  );
  if (!(await valueWithin(GRACE_MS, ended, false))) signalMembers(tree, "SIGKILL");
  // A sandbox whose first process is gone ends by itself; one that was killed while it was set up does not.
  if (!(await valueWithin(GRACE_MS, ended, false))) signal(-tree.pid, "SIGKILL");
  await valueWithin(GONE_AFTER_MS, ended, false);
  await endStragglers(tree);
}

/** Ends everything without asking, and without waiting. The first process of a namespace takes all others with it, however many they are. */
export function killAtOnce({ pid, containment, firstProcess }: Omit<ProcessTree, "exitCode">): void {
  const first = firstProcess();
  if (first !== undefined) signal(first, "SIGKILL");
  else if (containment.kind === "namespace") for (const member of descendantsOf(pid)) signal(member.pid, "SIGKILL");
  else for (const member of stragglersOf(pid, containment.mark)) signal(member, "SIGKILL");
  signal(-pid, "SIGKILL");
}

/** The same, and resolves when nothing lives any more. */
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
 * Ends a program at the latest when this process ends, when no time is left to ask it. Returns what to call once nothing of it
 * lives any more. After a SIGKILL of ours only a namespace does the same.
 */
export function endWithUs(tree: Omit<ProcessTree, "exitCode">): () => void {
  if (living.size === 0) process.once("exit", endAllAtOnce);
  living.add(tree);
  return () => {
    living.delete(tree);
    if (living.size === 0) process.off("exit", endAllAtOnce);
  };
}

/** Nothing else happens in this process meanwhile: it is about to end. */
const LAST_WAIT_MS = 200;

/** For the end of this process: comes back when nothing lives any more of what is to end with it. */
export function endAllAtOnce(): void {
  for (const tree of living) killAtOnce(tree);
  const until = performance.now() + LAST_WAIT_MS;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  const remains = () => [...living].some(({ pid, firstProcess }) => livingProcess(firstProcess() ?? pid));
  while (remains() && performance.now() < until) Atomics.wait(clock, 0, 0, LOOK_EVERY_MS);
  living.clear();
}

/**
 * What stays of a command after its own end: nothing in a namespace, and nothing in a group either once this has run. False when
 * something lives on all the same.
 */
export async function endStragglers({ pid, containment, firstProcess }: Omit<ProcessTree, "exitCode">): Promise<boolean> {
  const remaining = () => (containment.kind === "namespace" ? livingOf(firstProcess()) : stragglersOf(pid, containment.mark));
  const until = performance.now() + GONE_AFTER_MS;
  let looks = 0;
  let left = remaining();
  for (; left.length > 0 && performance.now() < until; left = remaining()) {
    for (const straggler of left) signal(straggler, "SIGKILL");
    await (looks++ < QUICK_LOOKS ? nextTurn() : sleep(LOOK_EVERY_MS));
  }
  return left.length === 0;
}

/** Names the server and the command in the environment of everything that a command without a namespace starts. */
export const COMMAND_MARK = "CODEX_MCPD_EXEC_ID";

/** Ends what commands of servers that are over have left running. Returns how many those were. */
export function sweepLeftovers(): number {
  const leftovers = livingProcesses().filter(({ pid }) => {
    const mark = environmentOf(pid).find((entry) => entry.startsWith(`${COMMAND_MARK}=`));
    const owner = mark && parseRun(mark.slice(COMMAND_MARK.length + 1, mark.lastIndexOf(".")));
    return owner && owner.place === ownRun().place && !isRunning(owner);
  });
  for (const { pid } of leftovers) signal(pid, "SIGKILL");
  return leftovers.length;
}

function signalMembers({ pid, containment }: ProcessTree, name: "SIGTERM" | "SIGKILL"): void {
  if (containment.kind === "group") {
    signal(-pid, name);
    return;
  }
  // The outermost process is the sandbox program: ended by TERM it would take the others with it before they could tidy up.
  for (const member of descendantsOf(pid)) signal(member.pid, name);
}

function livingOf(pid: number | undefined): number[] {
  return pid !== undefined && livingProcess(pid) ? [pid] : [];
}

/** Where there is no table of processes, what left the group is not found. */
function stragglersOf(group: number, mark: string): number[] {
  const everything = livingProcesses();
  if (everything.length === 0) return signal(-group, 0) ? [-group] : [];
  return everything.filter((entry) => entry.group === group || environmentOf(entry.pid).includes(mark)).map(({ pid }) => pid);
}

/** Whether there was anything to signal. */
function signal(pid: number, name: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
