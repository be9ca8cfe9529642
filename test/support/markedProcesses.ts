import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The environment variable that a server under test hands down to everything it starts. */
export const RUN_MARK = "SCENARIO_RUN";

export interface MarkedProcess {
  readonly pid: number;
  readonly commandLine: string;
}

/** Living processes that carry this mark, wherever they have been re-parented to. Empty where there is no /proc. */
export function processesMarked(mark: string): MarkedProcess[] {
  return processIds().flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`${RUN_MARK}=${mark}`)) return [];
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean);
      return words.length > 0 ? [{ pid, commandLine: words.join(" ") }] : [];
    } catch {
      // It ended meanwhile, or belongs to somebody else.
      return [];
    }
  });
}

/** Those that still live when the grace is over; a process takes a moment to leave after it was told to. */
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
