const SHORTEST_MS = 250;
const LONGEST_MS = 30_000;
const START_DEFAULT_MS = 10_000;
const WRITE_DEFAULT_MS = 250;
/** Asking again and again for nothing costs a model request each time. */
const SHORTEST_POLL_MS = 5_000;

/** How long `exec_command` waits before it reports a command that still runs. */
export function startYieldMs(requestedMs: number | undefined): number {
  return between(SHORTEST_MS, requestedMs ?? START_DEFAULT_MS, LONGEST_MS);
}

/** How long `write_stdin` waits for an answer; without input it only looks whether there is more. */
export function writeYieldMs(requestedMs: number | undefined, chars: string): number {
  return between(chars === "" ? SHORTEST_POLL_MS : SHORTEST_MS, requestedMs ?? WRITE_DEFAULT_MS, LONGEST_MS);
}

function between(least: number, ms: number, most: number): number {
  return Math.min(Math.max(ms, least), most);
}
