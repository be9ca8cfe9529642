import { fork } from "node:child_process";
import { once } from "node:events";

const PROGRAM = ["bench/httpPinger.ts"];

/** Pings the server from another process for as long as the work takes. Resolves with the answers' times, in ms, and the work's result. */
export async function pingDuring<T>(
  url: string,
  work: () => Promise<T>,
): Promise<{ readonly times: readonly number[]; readonly result: T }> {
  const pinger = fork("scripts/run-ts.mjs", [...PROGRAM, url], { stdio: "inherit" });
  try {
    await message(pinger);
    const result = await work();
    pinger.send("stop");
    const times = await message(pinger);
    if (!Array.isArray(times)) throw new Error("the pinger told no times");
    return { times, result };
  } finally {
    pinger.kill();
  }
}

async function message(pinger: ReturnType<typeof fork>): Promise<unknown> {
  const gone = new AbortController();
  const leave = () => gone.abort(new Error("the pinger ended by itself"));
  pinger.once("exit", leave);
  try {
    const [said]: unknown[] = await once(pinger, "message", { signal: gone.signal });
    return said;
  } finally {
    pinger.off("exit", leave);
  }
}
