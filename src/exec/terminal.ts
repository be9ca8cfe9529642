import { accessSync, constants } from "node:fs";
import path from "node:path";
import { AppError } from "../lib/errors.js";

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
export function onTerminal(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): string[] {
  const script = findOnPath("script", env["PATH"] ?? "/usr/bin:/bin");
  if (script === undefined) throw new NoTerminal();
  if (process.platform === "darwin") return [script, "-q", "/dev/null", ...argv];
  return [script, "--quiet", "--return", "--flush", "--command", `${SIZE}; exec ${argv.map(quoted).join(" ")}`, "/dev/null"];
}

/** Without a size some programs print one column. */
const SIZE = "stty rows 24 cols 80 2>/dev/null";

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function findOnPath(program: string, searchPath: string): string | undefined {
  return searchPath
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
