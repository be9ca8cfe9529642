import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

const START_DEADLINE_MS = 20_000;
const TERM_PATIENCE_MS = 15_000;
const ERRORS_KEPT = 4_000;

export interface Surroundings {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A server program that listens on a port of this machine; it ends when disposed. */
export interface ListeningServer extends AsyncDisposable {
  readonly url: string;
  /** Its working folder. */
  readonly cwd: string;
  readonly child: ChildProcess;
  readonly pid: number;
  /** The end of its output. */
  readonly errors: string;
}

/** Ours, as it was built, on the scripted model. `nodeArgs` are for Node itself. */
export function startOurs(
  where: Surroundings,
  { args = [], nodeArgs = [] }: { readonly args?: readonly string[]; readonly nodeArgs?: readonly string[] } = {},
): Promise<ListeningServer> {
  const main = path.resolve("dist/main.js");
  return startListening([process.execPath, ...nodeArgs, main, "--engine", "scripted", "--port", "0", ...args], where);
}

/** Starts any program that prints `listening on URL`, with Node's IPC channel. */
export async function startListening(command: readonly [string, ...string[]], { cwd, env }: Surroundings): Promise<ListeningServer> {
  const [file, ...args] = command;
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  const said = { errors: "" };
  child.once("error", (error) => {
    said.errors += error.message;
  });
  try {
    const url = await listeningUrl(child, said);
    return {
      url,
      cwd,
      child,
      pid: child.pid ?? 0,
      get errors() {
        return said.errors;
      },
      [Symbol.asyncDispose]: () => end(child),
    };
  } catch (error) {
    await end(child);
    throw error;
  }
}

function listeningUrl(child: ChildProcess, said: { errors: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the server did not listen in time: ${said.errors}`)), START_DEADLINE_MS);
    child.once("close", () => {
      clearTimeout(late);
      reject(new Error(`the server ended before it listened: ${said.errors}`));
    });
    const take = (chunk: string) => {
      said.errors = (said.errors + chunk).slice(-ERRORS_KEPT);
      const [, url] = /listening on (http:\S+)\s/.exec(said.errors) ?? [];
      if (url === undefined) return;
      clearTimeout(late);
      resolve(url);
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", take);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  const insist = setTimeout(() => child.kill("SIGKILL"), TERM_PATIENCE_MS);
  child.kill("SIGTERM");
  await gone;
  clearTimeout(insist);
}
