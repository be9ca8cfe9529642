import { execFile } from "node:child_process";

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
}

/** A program that ends by itself, and what it printed. It gets nothing on stdin; one that does not end in time is killed. */
export function runToEnd([program, ...args]: readonly [string, ...string[]], options: RunOptions = {}): Promise<Finished> {
  const { timeoutMs = 30_000, ...where } = options;
  return new Promise((resolve) => {
    const child = execFile(program, args, { ...where, timeout: timeoutMs, killSignal: "SIGKILL" }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end();
  });
}
