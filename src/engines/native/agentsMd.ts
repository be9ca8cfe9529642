import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { describe } from "../../lib/errors.js";
import { isCheckout } from "../../lib/files/gitFiles.js";
import { type MayRead, type ReadFile, readGuarded } from "../../lib/files/guardedRead.js";
import { ReadRefused } from "../../lib/files/readRefused.js";
import { isInside } from "../../platform/paths.js";
import type { ThreadSettings } from "../../threads/settings.js";

export interface InstructionSources {
  readonly codexHome: string;
  /** False for what is kept from commands, whatever the sandbox: whoever wrote a repository may have put links into it. */
  readonly mayRead: MayRead;
}

export interface UserInstructions {
  readonly text: string | undefined;
  /** One for each file that was left out though it is there. */
  readonly warnings: readonly string[];
}

/** Instructions that users keep in files: one global file, then one per folder from the project's root down to the working directory. */
export async function findUserInstructions(settings: ThreadSettings, sources: InstructionSources): Promise<UserInstructions> {
  const warnings: string[] = [];
  const global = await globalInstructions(sources, warnings);
  const project = await projectInstructions(settings, { ...sources, warnings });
  if (global && project) return { text: `${global}\n\n--- project-doc ---\n\n${project}`, warnings };
  return { text: global ?? project, warnings };
}

/** More than models take, whatever a caller's settings allow. */
const MOST_BYTES = 1024 * 1024;

/** The user's own, wherever they keep it; but not by a link from there to a secret. */
async function globalInstructions({ codexHome, mayRead }: InstructionSources, warnings: string[]): Promise<string | undefined> {
  const home = await realpath(codexHome).catch(() => codexHome);
  for (const name of ["AGENTS.override.md", "AGENTS.md"]) {
    const mayReadOwn: MayRead = (file) => file === path.join(home, name) || mayRead(file);
    const found = await firstReadable(home, [name], { mayRead: mayReadOwn, maxBytes: MOST_BYTES, warnings });
    const text = found && textOf(found).trim();
    if (text) return text;
  }
  return undefined;
}

async function projectInstructions(
  { cwd, projectDocMaxBytes, projectDocFallbackFilenames, projectRootMarkers }: ThreadSettings,
  { mayRead, warnings }: InstructionSources & { readonly warnings: string[] },
): Promise<string | undefined> {
  const names = ["AGENTS.override.md", "AGENTS.md", ...projectDocFallbackFilenames];
  const folders = foldersFromRoot(cwd, projectRootMarkers);
  const project = await realFolders([folders[0] ?? cwd, cwd]);
  const mayReadHere: MayRead = (file) => project.some((folder) => isInside(file, folder)) && mayRead(file);
  let budget = Math.min(projectDocMaxBytes, MOST_BYTES);
  const texts: string[] = [];
  for (const folder of folders) {
    if (budget <= 0) break;
    const found = await firstReadable(folder, names, { mayRead: mayReadHere, maxBytes: budget, warnings });
    const text = found === undefined ? "" : textOf(found);
    if (found === undefined || text.trim() === "") continue;
    texts.push(text);
    budget -= found.bytes.length;
  }
  return texts.length > 0 ? texts.join("\n\n") : undefined;
}

/** From the folder that holds a root marker down to `cwd`; only `cwd` when nothing above it does. */
function foldersFromRoot(cwd: string, markers: readonly string[]): string[] {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = path.dirname(folder)) {
    folders.unshift(folder);
    if (markers.some((marker) => (marker === ".git" ? isCheckout(folder) : existsSync(path.join(folder, marker))))) return folders;
    if (folder === path.dirname(folder)) return [cwd];
  }
}

async function realFolders(folders: readonly string[]): Promise<string[]> {
  return (await Promise.all(folders.map((folder) => realpath(folder).catch(() => [])))).flat();
}

interface Reading {
  readonly mayRead: MayRead;
  readonly maxBytes: number;
  readonly warnings: string[];
}

async function firstReadable(folder: string, names: readonly string[], reading: Reading): Promise<ReadFile | undefined> {
  const { warnings, ...limits } = reading;
  for (const name of names) {
    const file = path.join(folder, name);
    if (!existsSync(file)) continue;
    try {
      return await readGuarded(file, { ...limits, larger: "cut" });
    } catch (error) {
      // Not ours to read: the next name may be.
      if (error instanceof ReadRefused) warnings.push(`${file} was left out: ${whyLeftOut(error)}`);
    }
  }
  return undefined;
}

function whyLeftOut(error: ReadRefused): string {
  return ["hidden", "kernel"].includes(error.reason)
    ? "it leads out of the project, or to something that is kept from the model."
    : describe(error);
}

/** Without half a character at the end of what was cut. */
function textOf({ bytes, isCut }: ReadFile): string {
  return isCut ? new TextDecoder("utf-8").decode(bytes, { stream: true }) : bytes.toString("utf8");
}
