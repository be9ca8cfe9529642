import { realpathSync } from "node:fs";
import path from "node:path";
import { isFields } from "../../lib/fields.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";

/** The names of the package and its programs. */
export const OWN_NAMES: ReadonlySet<string> = new Set(["codex-mcpd", "codex-mcp-server"]);
const PACKAGE = "codex-mcpd";
const LARGEST_MANIFEST = 65_536;

/** Whether a file is this server's program: the running one, or that of another installed version. */
export function isOwnProgram(file: string): boolean {
  const real = realPath(file);
  if (real === undefined) return false;
  if (real === runningProgram()) return true;
  const [folder, manifest] = [path.dirname(real), path.join(real, "../../package.json")];
  return path.basename(real) === "main.js" && path.basename(folder) === "dist" && packageName(manifest) === PACKAGE;
}

const RUNTIMES = /^(?:node|nodejs|bun|deno)(?:\.exe)?$/;
const SCRIPT_RUNNERS = new Set(["run", "x"]);
/** Options of Node that take the next word as their value. */
const WITH_VALUE = new Set(
  "-r --require --import --loader --experimental-loader -C --conditions --env-file --env-file-if-exists --title --input-type".split(" "),
);

/** The script that this command line makes a JavaScript runtime run; undefined for any other command. */
export function scriptIn([program = "", ...args]: readonly string[]): string | undefined {
  if (!RUNTIMES.test(path.basename(program))) return undefined;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (WITH_VALUE.has(word)) at++;
    else if (!word.startsWith("-") && !(at === 0 && SCRIPT_RUNNERS.has(word))) return word;
  }
  return undefined;
}

function runningProgram(): string | undefined {
  const [, script] = process.argv;
  return script === undefined ? undefined : realPath(script);
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

/** The file lies beside a program that someone else chose, so it may contain anything. */
function packageName(manifest: string): unknown {
  try {
    const content: unknown = JSON.parse(smallFileIfAny(manifest, { maxBytes: LARGEST_MANIFEST }) ?? "");
    return isFields(content) ? content["name"] : undefined;
  } catch {
    return undefined;
  }
}
