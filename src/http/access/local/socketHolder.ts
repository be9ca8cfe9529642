import { readdirSync, readlinkSync } from "node:fs";
import { setImmediate as nextRound } from "node:timers/promises";

/** The system calls are synchronous; after this many, other work gets its turn. */
const LOOKS_IN_A_ROW = 256;
const DEADLINE_MS = 2_000;

/** Finds the processes that hold a socket. Never rejects: a process that may not be inspected counts as not holding it. */
export class HolderSearch {
  readonly #link: string;
  readonly #deadline = performance.now() + DEADLINE_MS;
  #looks = 0;

  constructor(inode: string) {
    this.#link = `socket:[${inode}]`;
  }

  async isHeldBy(pid: number): Promise<boolean> {
    const folder = `/proc/${pid}/fd`;
    for (const descriptor of namesIn(folder)) {
      if (++this.#looks % LOOKS_IN_A_ROW === 0) await nextRound();
      if (linkOf(`${folder}/${descriptor}`) === this.#link) return true;
    }
    return false;
  }

  /**
   * Whether a process other than these and other than our own holds the socket. The newest processes are checked first, because a process
   * that connects now has usually started recently. A holder that has ended may have passed the socket on.
   */
  async isHeldByOther(pids: ReadonlySet<number>, mayBeOwn: (pid: number) => boolean): Promise<boolean> {
    const others = namesIn("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && !pids.has(pid));
    for (const pid of others.sort((a, b) => b - a)) {
      if (performance.now() > this.#deadline) return false;
      if (await this.isHeldBy(pid)) return !mayBeOwn(pid);
    }
    return false;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}
