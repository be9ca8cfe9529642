import { readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { OutsidePrograms } from "../outside/outsidePrograms.js";
import { isExecutableFile } from "../outside/systemPrograms.js";
import type { WritablePlaces } from "../outside/writablePlaces.js";

export interface WhereToLook {
  /** Named by the user: then nothing else is tried. */
  readonly bin?: string;
  /** The Codex program, which may have a bubblewrap in its package. */
  readonly codexBin?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nothing in here is trusted but the system's own folders. */
  readonly writable: WritablePlaces;
}

/** Programs that may be bubblewrap, best first. */
export function bubblewrapCandidates({ bin, codexBin, env, writable }: WhereToLook): string[] {
  if (bin !== undefined) return [path.resolve(bin)];
  const programs = new OutsidePrograms({ env, writable });
  if (codexBin !== undefined) return [...new Set([...programs.all("bwrap"), ...bundledWith(codexBin)])];
  const bundled = programs
    .all("codex")
    .slice(0, 1)
    .flatMap(bundledWith)
    .filter((file) => programs.trusts(file));
  return [...new Set([...programs.all("bwrap"), ...bundled])];
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
    .filter(isExecutableFile);
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
