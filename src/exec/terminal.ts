import { AppError } from "../lib/errors.js";
import { systemProgram } from "./outside/systemPrograms.js";

export class NoTerminal extends AppError {
  readonly code = "no_terminal";
  constructor() {
    super("no pseudo-terminal available: the program `script` (package bsdutils or util-linux) is not installed");
  }
}

/**
 * The command on a pseudo-terminal of its own. The system's `script` makes one inside the sandbox, which spares a native
 * dependency and keeps our side of it an ordinary pair of pipes.
 */
export function onTerminal(argv: readonly string[]): string[] {
  const script = systemProgram("script");
  if (script === undefined) throw new NoTerminal();
  if (process.platform === "darwin") return [script, "-q", "/dev/null", ...argv];
  return [script, "--quiet", "--return", "--flush", "--command", `${SIZE}; exec ${argv.map(quoted).join(" ")}`, "/dev/null"];
}

/** Without a size some programs print one column. */
const SIZE = "stty rows 24 cols 80 2>/dev/null";

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
