import { accessSync, constants, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { isInside } from "./paths.js";

export interface WhereToLook {
  /** Named by the user: then nothing else is tried. */
  readonly bin?: string;
  /** The Codex program, which may have a bubblewrap in its package. */
  readonly codexBin?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nothing in here is trusted but the system's own folders: commands may write it, and package runners put such folders on the PATH. */
  readonly workspace: string;
}

/** Programs that may be bubblewrap, best first. */
export function bubblewrapCandidates({ bin, codexBin, env, workspace }: WhereToLook): string[] {
  if (bin !== undefined) return [path.resolve(bin)];
  const folders = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => isTrusted(folder, workspace));
  const onPath = folders.map((folder) => path.join(folder, "bwrap")).filter(isExecutable);
  const codex = codexBin ?? folders.map((folder) => path.join(folder, "codex")).find(isExecutable);
  return [...new Set([...onPath, ...(codex === undefined ? [] : bundledWith(codex))])];
}

const SYSTEM_FOLDERS = new Set(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]);

function isTrusted(folder: string, workspace: string): boolean {
  if (SYSTEM_FOLDERS.has(folder)) return true;
  return path.isAbsolute(folder) && !isInside(path.normalize(folder), workspace) && !folder.includes("node_modules");
}

/** Codex's launcher is in one package and the programs for each platform in another, beside it or below it. */
function bundledWith(codex: string): string[] {
  const launcher = realPath(codex);
  const packages = launcher?.slice(0, launcher.lastIndexOf("/@openai/codex/"));
  if (launcher === undefined || !packages || packages === launcher) return [];
  return [`${packages}/@openai`, `${packages}/@openai/codex/node_modules/@openai`]
    .flatMap((scope) => foldersIn(scope).filter((folder) => path.basename(folder).startsWith("codex-linux-")))
    .flatMap((platform) => foldersIn(path.join(platform, "vendor")))
    .map((vendor) => path.join(vendor, "codex-resources/bwrap"))
    .filter(isExecutable);
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    return undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
