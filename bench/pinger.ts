import { fork } from "node:child_process";
import { once } from "node:events";

const PROGRAM = ["bench/httpPinger.ts"];

/** The repeated request: MCP's ping, or a GET of a document. */
export type Pinged = string | { readonly url: string; readonly expect: string };

/** Pings the server from another process for as long as the work takes. Resolves with the response times, in ms, and the work's result. */
export async function pingDuring<T>(
  pinged: Pinged,
  work: () => Promise<T>,
): Promise<{ readonly times: readonly number[]; readonly result: T }> {
  const args = typeof pinged === "string" ? [pinged] : [pinged.url, pinged.expect];
  const pinger = fork("scripts/run-ts.mjs", [...PROGRAM, ...args], { stdio: "inherit" });
  try {
    await messageOf(pinger);
    const result = await work();
    pinger.send("stop");
    const times = await messageOf(pinger);
    if (!Array.isArray(times)) throw new Error("the pinger reported no times");
    return { times, result };
  } finally {
    pinger.kill();
  }
}

/** The next message of a program that we started. */
export async function messageOf(program: ReturnType<typeof fork>): Promise<unknown> {
  const gone = new AbortController();
  const leave = () => gone.abort(new Error(`${program.spawnargs.at(2)} ended by itself`));
  program.once("exit", leave);
  try {
    const [said]: unknown[] = await once(program, "message", { signal: gone.signal });
    return said;
  } finally {
    program.off("exit", leave);
  }
}
