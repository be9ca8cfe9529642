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

/** The first version known to hold threads to permission profiles of their own, for commands, patches and everything it reads itself. */
const FIRST_HIDING = [0, 160, 1] as const;

/** Whether a Codex can keep its commands from reading what is hidden. Shown for Linux only. */
export function hidesSecrets(version: string, platform: string = process.platform): boolean {
  return platform === "linux" && isAtLeast(version, FIRST_HIDING);
}

/** Why a Codex must not serve several callers. */
export function cannotHide(version: string, program: string): string {
  return (
    `The Codex CLI at ${program}, version ${version}, cannot hide tokens, its login and the threads of other callers from commands, and more than one principal may call this server. ` +
    "Update it (npm install -g @openai/codex), let a single token in, or use --engine native."
  );
}

/** Throws `CodexUnusable` for a version we do not work with; pre-releases count as their release. */
export function requireSupported(version: string, program: string): void {
  if (!isAtLeast(version, OLDEST))
    throw new CodexUnusable(
      `The Codex CLI at ${program} is version ${version}; at least ${OLDEST.join(".")} is needed. Update it (npm install -g @openai/codex), or use --engine native.`,
    );
}

function isAtLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number);
  return (oldest.map((part, at) => (parts[at] ?? 0) - part).find((step) => step !== 0) ?? 0) >= 0;
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
