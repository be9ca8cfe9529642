import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { WebSocketServer } from "ws";
import type { Ground } from "./ground.js";

const DEADLINE_MS = 20_000;

/** A command without any sandbox, as the machine's user: what it prints is seen. */
export async function runPlainly(ground: Ground, script: string, env: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
  await finish(ground, "bash", ["-c", script], env);
}

/** A program outside any sandbox, taken by its name from wherever PATH says. */
export async function runByName(ground: Ground, name: string, searchPath: string, cwd = ground.workspace): Promise<void> {
  await finish(ground, "/usr/bin/env", [name], { PATH: searchPath }, cwd);
}

/** A reader that believes whatever name it is given, and what the file says about its size. */
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
    // A program that failed may have done its work before.
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    ground.see("what it printed", stdout + stderr);
  }
}

/** PATH as `npx` and `npm run` set it in a project. */
export function pathInProject(ground: Ground): string {
  const usual = [path.dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
  return [ground.inWorkspace("node_modules/.bin"), ...usual].join(":");
}

/** A server that trusts whoever reaches it, and punishes an address for the guesses that came from it. */
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
