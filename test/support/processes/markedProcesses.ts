import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The environment variable that a server under test passes to all its children. */
export const RUN_MARK = "SCENARIO_RUN";

export interface MarkedProcess {
  readonly pid: number;
  readonly commandLine: string;
}

/** Running processes with this mark, whatever their parent is now. Empty if there is no /proc. */
export function processesMarked(mark: string): MarkedProcess[] {
  return processIds().flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`${RUN_MARK}=${mark}`)) return [];
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean);
      return words.length > 0 ? [{ pid, commandLine: words.join(" ") }] : [];
    } catch {
      // It ended meanwhile, or belongs to another user.
      return [];
    }
  });
}

/** Those that still run after the grace period; a process needs a moment to end after a signal. */
export async function stragglers(mark: string, { graceMs }: { readonly graceMs: number }): Promise<MarkedProcess[]> {
  const until = performance.now() + graceMs;
  for (;;) {
    const found = processesMarked(mark);
    if (found.length === 0 || performance.now() >= until) return found;
    await sleep(20);
  }
}

export function killMarked(mark: string): void {
  for (const { pid } of processesMarked(mark)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
}

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}
