import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { WebSocketServer } from "ws";
import type { Ground } from "./ground.js";

const DEADLINE_MS = 20_000;

/** Runs a command without a sandbox, as the machine's user, and records its output. */
export async function runPlainly(ground: Ground, script: string, env: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
  await finish(ground, "bash", ["-c", script], env);
}

/** Runs a program outside the sandbox, found by name in the given PATH. */
export async function runByName(ground: Ground, name: string, searchPath: string, cwd = ground.workspace): Promise<void> {
  await finish(ground, "/usr/bin/env", [name], { PATH: searchPath }, cwd);
}

/** A reader that trusts every name, and the size that the file reports. */
export function readNaively(ground: Ground, file: string): string {
  const text = readFileSync(file, "latin1");
  ground.see("what was read", text);
  return text;
}

async function finish(
  ground: Ground,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd = ground.workspace,
): Promise<void> {
  const surroundings = { PATH: process.env["PATH"], HOME: ground.home, CODEX_HOME: ground.codexHome, ...env };
  const options = { cwd, env: surroundings, timeout: DEADLINE_MS, killSignal: "SIGKILL" } as const;
  try {
    const running = promisify(execFile)(program, [...args], options);
    running.child.stdin?.end();
    const { stdout, stderr } = await running;
    ground.see("what it printed", stdout + stderr);
  } catch (error) {
    // A program that failed may still have had an effect.
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    ground.see("what it printed", stdout + stderr);
  }
}

/** PATH as `npx` and `npm run` set it in a project. */
export function pathInProject(ground: Ground): string {
  const usual = [path.dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
  return [ground.inWorkspace("node_modules/.bin"), ...usual].join(":");
}

/** A server that trusts every caller, and blocks an address after wrong guesses. */
export async function openNaiveServer(ground: Ground, answer = ""): Promise<string> {
  let guesses = 0;
  const server = createServer((request, response) => {
    if (request.headers.authorization?.includes("wrong-")) guesses++;
    response.writeHead(guesses > 10 ? 429 : 200, { "mcp-session-id": "one" }).end(answer);
  });
  const sockets = new WebSocketServer({ server });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ground.atTheEnd(() => {
    sockets.close();
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

/** Runs in another process what would block a server, and records it as endless if it takes longer than five seconds. */
export async function tryNaively(ground: Ground, program: string): Promise<void> {
  const file = ground.write(path.join(ground.root, "naive.cjs"), program);
  await runPlainly(ground, `timeout 5 '${process.execPath}' '${file}'; [ $? = 124 ] && echo ENDLESS`);
}

/** For `gained`. */
export const isStopped = (ground: Ground): readonly string[] => (ground.saw("ENDLESS") ? ["a server that is blocked"] : []);
