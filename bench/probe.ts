import { once } from "node:events";
import path from "node:path";
import type { ListeningServer } from "./listening.js";

/** The resources of a process after a forced collection; see insideProbe.mjs. */
export interface ProbeAnswer {
  readonly rss: number;
  readonly heapUsed: number;
  /** Kinds of timers, sockets and the like → how many keep the process alive. */
  readonly resources: Readonly<Record<string, number>>;
  /** The targets of its file descriptors. */
  readonly descriptors: readonly string[];
}

/** Flags that make a Node server answer `askProbe`. */
export const PROBED: readonly string[] = ["--import", path.resolve("bench/insideProbe.mjs")];

const ANSWER_DEADLINE_MS = 30_000;

export async function askProbe({ child }: ListeningServer): Promise<ProbeAnswer> {
  const answered = once(child, "message", { signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) });
  child.send("what do you hold?");
  const [answer]: ProbeAnswer[] = await answered;
  if (!answer) throw new Error("the probe said nothing");
  return answer;
}
