import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe } from "../../lib/errors.js";
import { CodexUnusable } from "./errors.js";

/** The first version whose app-server keeps what we rely on: lists without holes, policies that survive a resume. */
const OLDEST = [0, 150, 0] as const;
const PROBE_MS = 10_000;

/** Of texts like `codex-cli 0.166.0` and `ours/0.166.0 (Debian …)`: the first thing that looks like a version. */
export function readVersion(text: string): string | undefined {
  return /(?:^|[\s/v])(\d+\.\d+\.\d+(?:-[\w.]+)?)/.exec(text)?.[1];
}

/** Throws `CodexUnusable` for a version we do not work with; pre-releases count as their release. */
export function requireSupported(version: string, program: string): void {
  const parts = version.split(/[.-]/).map(Number);
  const difference = OLDEST.map((part, at) => (parts[at] ?? 0) - part).find((step) => step !== 0) ?? 0;
  if (difference < 0)
    throw new CodexUnusable(
      `The Codex CLI at ${program} is version ${version}; at least ${OLDEST.join(".")} is needed. Update it (npm install -g @openai/codex), or use --engine native.`,
    );
}

/** What the program says about itself; costs a process. */
export async function askVersion(program: string, env: NodeJS.ProcessEnv): Promise<string> {
  let text: string;
  try {
    ({ stdout: text } = await promisify(execFile)(program, ["--version"], { env, timeout: PROBE_MS, killSignal: "SIGKILL" }));
  } catch (error) {
    throw new CodexUnusable(`${program} cannot tell its version: ${describe(error).split("\n")[0]}`, { cause: error });
  }
  const version = readVersion(text);
  if (version === undefined)
    throw new CodexUnusable(`${program} is no Codex CLI: asked for its version, it said ${JSON.stringify(text.slice(0, 80))}`);
  return version;
}
