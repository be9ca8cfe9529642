import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { ThreadSettings } from "../../threads/model.js";

/** Instructions that users keep in files: one global file, then one per folder from the project's root down to the working directory. */
export function findUserInstructions(settings: ThreadSettings, codexHome: string): string | undefined {
  const global = globalInstructions(codexHome);
  const project = projectInstructions(settings);
  if (global && project) return `${global}\n\n--- project-doc ---\n\n${project}`;
  return global ?? project;
}

function globalInstructions(codexHome: string): string | undefined {
  const texts = ["AGENTS.override.md", "AGENTS.md"].map((name) => firstReadable(codexHome, [name])?.trim());
  return texts.find((text) => text !== undefined && text !== "");
}

function projectInstructions({
  cwd,
  projectDocMaxBytes,
  projectDocFallbackFilenames,
  projectRootMarkers,
}: ThreadSettings): string | undefined {
  const names = ["AGENTS.override.md", "AGENTS.md", ...projectDocFallbackFilenames];
  let budget = projectDocMaxBytes;
  const texts: string[] = [];
  for (const folder of foldersFromRoot(cwd, projectRootMarkers)) {
    if (budget <= 0) break;
    const text = firstReadable(folder, names);
    if (text === undefined || text.trim() === "") continue;
    const bytes = Buffer.from(text);
    texts.push(bytes.length > budget ? cutAt(bytes, budget) : text);
    budget -= bytes.length;
  }
  return texts.length > 0 ? texts.join("\n\n") : undefined;
}

/** From the folder that holds a root marker down to `cwd`; only `cwd` when nothing above it does. */
function foldersFromRoot(cwd: string, markers: readonly string[]): string[] {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = path.dirname(folder)) {
    folders.unshift(folder);
    if (markers.some((marker) => existsSync(path.join(folder, marker)))) return folders;
    if (folder === path.dirname(folder)) return [cwd];
  }
}

function firstReadable(folder: string, names: readonly string[]): string | undefined {
  for (const name of names) {
    try {
      const file = path.join(folder, name);
      if (statSync(file).isFile()) return readFileSync(file, "utf8");
    } catch {
      // Not there, or not ours to read: the next name may be.
    }
  }
  return undefined;
}

/** The first bytes, without half a character at the end. */
function cutAt(bytes: Buffer, limit: number): string {
  return new TextDecoder("utf-8").decode(bytes.subarray(0, limit), { stream: true });
}
