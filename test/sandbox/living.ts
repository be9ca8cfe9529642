import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Command lines of living processes that have this text in their command line or in their environment. */
export function livingWith(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const commandLine = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
      return commandLine !== "" && (commandLine.includes(mark) || read(`/proc/${pid}/environ`).includes(mark)) ? [commandLine] : [];
    });
}

/** Those that still live when the time is over. */
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
