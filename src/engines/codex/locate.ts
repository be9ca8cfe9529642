import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

export interface CodexSearch {
  /** What `--codex-bin` names; counts before `CODEX_BIN` and the path. */
  readonly codexBin?: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Where a Codex is, and who said so. */
export interface FoundCodex {
  readonly path: string;
  readonly namedBy: "--codex-bin" | "CODEX_BIN" | "PATH";
}

/** Looks at names only and opens nothing, so that a start may ask. What was named by hand is taken as it is; undefined when nothing is there. */
export function findCodex({ codexBin, env }: CodexSearch): FoundCodex | undefined {
  if (codexBin) return { path: path.resolve(codexBin), namedBy: "--codex-bin" };
  if (env["CODEX_BIN"]) return { path: path.resolve(env["CODEX_BIN"]), namedBy: "CODEX_BIN" };
  const onPath = (env["PATH"] ?? "")
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, process.platform === "win32" ? "codex.exe" : "codex"))
    .find(isExecutableFile);
  return onPath === undefined ? undefined : { path: onPath, namedBy: "PATH" };
}

export function isExecutableFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
