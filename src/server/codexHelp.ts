import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { codexProgram } from "../engines/codex/appServer/findBinary.js";
import type { ServerContext } from "./context.js";
import { writablePlaces } from "./writablePlaces.js";

/** The command only prints. */
const HELP_MS = 10_000;
const LONGEST_BYTES = 256 * 1024;
/** The command needs no variable that may hold a secret. */
const PASSED_ON = ["PATH", "HOME", "LANG", "SystemRoot"];

/** The output of `codex --help`; undefined if no usable Codex is found or it prints nothing. */
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
    // Missing, unusable or failed: our own help text is more useful than its error.
    return undefined;
  }
}
