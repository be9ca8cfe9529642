import { type Dirent, lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";

/** Names in a project that other programs read to find out what to run: editors, agents, shells, direnv. */
const NAMES = new Set([
  ".mcp.json",
  ".vscode",
  ".idea",
  ".envrc",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".cshrc",
  ".tcshrc",
  ".login",
  ".gitconfig",
]);
/** Files of agents and editors with the same power in folders that hold much else. */
const DEEPER_NAMES: Readonly<Record<string, readonly string[]>> = {
  ".claude": ["settings.json", "settings.local.json"],
  ".cursor": ["mcp.json"],
  ".gemini": ["settings.json"],
  ".git": ["hooks", "config"],
};
/** Large, and full of what others have written; nobody opens it as a project. */
const PASSED_OVER = new Set(["node_modules"]);
/** A search takes a few milliseconds at the most, however large the project. */
const MOST_FOLDERS = 1_000;
const DEEPEST = 6;
const MOST_FOUND = 64;

/**
 * What is there now of such names below a folder, by real path, the outermost first. Links are left out: nothing can be mounted
 * over them. The project's own `.git` is protected as a whole and not looked into.
 */
export async function findGuardedNames(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  let folders = [root];
  let visited = 0;
  for (let depth = 0; depth < DEEPEST && folders.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of folders) {
      if (visited++ >= MOST_FOLDERS || found.length >= MOST_FOUND) return found.slice(0, MOST_FOUND);
      for (const entry of await entriesOf(folder)) {
        const file = path.join(folder, entry.name);
        if (entry.isSymbolicLink()) continue;
        if (NAMES.has(entry.name)) found.push(file);
        else if (entry.isDirectory()) {
          found.push(...deeperNames(file, { isOwnGit: folder === root && entry.name === ".git" }));
          if (entry.name !== ".git" && !PASSED_OVER.has(entry.name)) next.push(file);
        }
      }
    }
    folders = next;
  }
  return found.slice(0, MOST_FOUND);
}

function deeperNames(folder: string, { isOwnGit }: { isOwnGit: boolean }): string[] {
  const names = isOwnGit ? [] : (DEEPER_NAMES[path.basename(folder)] ?? []);
  return names.map((name) => path.join(folder, name)).filter(isRealThing);
}

function isRealThing(file: string): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isSymbolicLink();
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
