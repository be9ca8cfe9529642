import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Command lines of running processes with this text in their command line or environment. */
export function livingWith(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const commandLine = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
      return commandLine !== "" && (commandLine.includes(mark) || read(`/proc/${pid}/environ`).includes(mark)) ? [commandLine] : [];
    });
}

/** The processes that are still running after this time. */
export async function livingAfter(ms: number, mark: string): Promise<string[]> {
  for (const until = performance.now() + ms; ; ) {
    const living = livingWith(mark);
    if (living.length === 0 || performance.now() > until) return living;
    await sleep(10);
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
