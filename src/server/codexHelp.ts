import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { codexProgram } from "../engines/codex/appServer/findBinary.js";
import type { ServerContext } from "./context.js";
import { writablePlaces } from "./writablePlaces.js";

/** It only prints. */
const HELP_MS = 10_000;
const LONGEST_BYTES = 256 * 1024;
/** It needs nothing of what may be secret in the environment. */
const PASSED_ON = ["PATH", "HOME", "LANG", "SystemRoot"];

/** What `codex --help` says on this machine; undefined where no Codex is found that may be run, or it says nothing. */
export async function readCodexHelp({
  options,
  env,
  serverCwd,
}: Pick<ServerContext, "options" | "env" | "serverCwd">): Promise<string | undefined> {
  const { codexBin } = options;
  const writable = writablePlaces({ ...options, serverCwd, env });
  try {
    const program = codexProgram({ env, writable, ...(codexBin === undefined ? {} : { codexBin }) });
    const given = Object.fromEntries(PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
    const limits = { env: given, timeout: HELP_MS, killSignal: "SIGKILL", maxBuffer: LONGEST_BYTES } as const;
    const { stdout } = await promisify(execFile)(program, ["--help"], limits);
    return stdout === "" ? undefined : stdout;
  } catch {
    // Missing, unusable, or it failed by itself: our own words help more than its complaint.
    return undefined;
  }
}
