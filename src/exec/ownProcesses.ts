import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { setImmediate as nextRound } from "node:timers/promises";
import { errorCode } from "../lib/errors.js";
import { namesIn } from "../platform/paths.js";

/** A descendant of this process in the same network namespace. */
export interface OwnProcess {
  readonly pid: number;
  /** It has a system call filter that this process does not have: it is, or may be, a sandboxed command. */
  readonly confined: boolean;
}

/** Each look-up is fast; after this many, the event loop gets a turn. */
const LOOKS_IN_A_ROW = 64;

/** Whether there is any descendant: usually one small file to read. */
export function hasOwnProcesses(): boolean {
  return childrenOf(process.pid, [String(process.pid)]).length > 0;
}

/**
 * The descendants that could connect to a port of this process. A process in another network namespace is excluded, with all its
 * descendants.
 */
export async function ownProcesses(): Promise<readonly OwnProcess[]> {
  const here = linkOf("/proc/self/ns/net");
  const own = filtersOf("self");
  const found: OwnProcess[] = [];
  let looks = 0;
  for (const queue = childrenOf(process.pid, [String(process.pid)]); queue.length > 0; ) {
    if (++looks % LOOKS_IN_A_ROW === 0) await nextRound();
    const pid = queue.pop() ?? 0;
    const network = linkOf(`/proc/${pid}/ns/net`);
    if (network !== here && network !== "hidden") continue;
    found.push({ pid, confined: network === "hidden" || isConfined(pid, own) });
    queue.push(...childrenOf(pid, namesIn(`/proc/${pid}/task`)));
  }
  return found;
}

/** The kernel lists children by the thread that started them. This process starts programs from its main thread only. */
function childrenOf(pid: number, threads: readonly string[]): number[] {
  if (!CHILDREN_ARE_LISTED)
    return namesIn("/proc")
      .map(Number)
      .filter((other) => parentOf(other) === pid);
  return threads.flatMap((thread) => {
    const listed = textOf(`/proc/${pid}/task/${thread}/children`) ?? "";
    return listed.split(" ").filter(Boolean).map(Number);
  });
}

/** Kernels may be built without these lists. */
const CHILDREN_ARE_LISTED = existsSync(`/proc/self/task/${process.pid}/children`);

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(textOf(`/proc/${pid}/status`) ?? "")?.[1]);
}

const MOST_WALKS = 3;

/**
 * Whether a process descends from this one. Also true if that cannot be determined: the process has ended, or its ancestors keep changing. A
 * list of descendants misses those that are started while it is made.
 */
export function mayBeDescendant(pid: number): boolean {
  for (let walks = 0; walks < MOST_WALKS; walks++) {
    let [at, child] = [pid, pid];
    while (at > 1 && at !== process.pid) [at, child] = [parentOf(at), at];
    if (at === process.pid) return true;
    // An ancestor that ended in the meantime has no parent or the parent 0, and its child got another one.
    if (!Number.isNaN(at) && !Number.isNaN(parentOf(child))) return false;
  }
  return true;
}

interface Filters {
  readonly mode: string | undefined;
  /** Absent before Linux 5.9. */
  readonly count: number | undefined;
  readonly users: string | undefined;
}

/** A server in a container has a filter itself, which all its descendants inherit. */
function isConfined(pid: number, own: Filters): boolean {
  const { mode, count, users } = filtersOf(pid);
  // The process is gone.
  if (mode === undefined) return false;
  if (mode !== own.mode) return true;
  if (count !== undefined && own.count !== undefined) return count > own.count;
  return mode !== "0" && users !== own.users;
}

function filtersOf(pid: number | "self"): Filters {
  const status = textOf(`/proc/${pid}/status`) ?? "";
  const [, mode] = /^Seccomp:\s*(\d+)$/m.exec(status) ?? [];
  const [, count] = /^Seccomp_filters:\s*(\d+)$/m.exec(status) ?? [];
  return { mode, count: count === undefined ? undefined : Number(count), users: linkOf(`/proc/${pid}/ns/user`) };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return undefined;
  }
}

/** Undefined when the process is gone. */
function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch (error) {
    return errorCode(error) === "EACCES" ? "hidden" : undefined;
  }
}

const CHANNEL = "net.client.socket";

/**
 * The outgoing TCP connections of this process, so that it can recognise an incoming connection from itself. TLS connections are not
 * visible.
 */
export class OwnConnections {
  readonly #open = new Set<string>();
  readonly #follow = (message: unknown) => {
    // The diagnostics channel guarantees this type.
    const { socket } = message as { socket: Socket };
    socket.once("connect", () => {
      const end = written(socket.localAddress, socket.localPort);
      this.#open.add(end);
      socket.once("close", () => this.#open.delete(end));
    });
  };

  constructor() {
    subscribe(CHANNEL, this.#follow);
  }

  /** Whether one of them has this local address. */
  has(address: string, port: number): boolean {
    return this.#open.size > 0 && this.#open.has(written(address, port));
  }

  close(): void {
    unsubscribe(CHANNEL, this.#follow);
  }
}

function written(address = "", port = 0): string {
  return `${address.replace(/^::ffff:/i, "")} ${port}`;
}
