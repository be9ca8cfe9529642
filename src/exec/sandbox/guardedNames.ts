import { type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
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
};
/** Large, and full of what others have written; nobody opens it as a project. */
const PASSED_OVER = new Set(["node_modules"]);
/** A search takes some milliseconds at the most, however large the project. */
const MOST_FOLDERS = 1_500;
const MOST_ENTRIES = 30_000;
const DEEPEST = 8;
const MOST_FOUND = 64;

export interface GuardedNames {
  /** By real path, the outermost first. */
  readonly names: readonly string[];
  /** False: the project is too large to have been looked through. */
  readonly isComplete: boolean;
}

/**
 * What is there now of such names below a folder, less those that are passed over. Links are left out: nothing can be mounted over
 * them. Of inner repositories all of `.git` counts, as it does at the root: a file in it can name other folders for hooks and settings.
 */
export async function findGuardedNames(root: string, besides: Pick<ReadonlySet<string>, "has"> = new Set()): Promise<GuardedNames> {
  const names: string[] = [];
  let folders = [root];
  let visited = 0;
  let seen = 0;
  for (let depth = 0; folders.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of folders) {
      if (depth === DEEPEST || visited++ >= MOST_FOLDERS) return { names, isComplete: false };
      for await (const entry of entriesOf(folder)) {
        if (seen++ >= MOST_ENTRIES) return { names, isComplete: false };
        const file = path.join(folder, entry.name);
        if (entry.isSymbolicLink() || besides.has(file)) continue;
        const found = guardedAt(file, entry, { atRoot: folder === root }).filter((name) => !besides.has(name));
        if (names.length + found.length > MOST_FOUND) return { names, isComplete: false };
        names.push(...found);
        if (entry.isDirectory() && entry.name !== ".git" && !NAMES.has(entry.name) && !PASSED_OVER.has(entry.name)) next.push(file);
      }
    }
    folders = next;
  }
  return { names, isComplete: true };
}

/** Whether a file is, or lies in, something that other programs run: for those that a search did not come to. */
export function guardedPart(root: string, file: string): string | undefined {
  const steps = path.relative(root, file).split(path.sep);
  const at = steps.findIndex(
    (step, index) => NAMES.has(step) || step === ".git" || (DEEPER_NAMES[steps[index - 1] ?? ""]?.includes(step) ?? false),
  );
  return at < 0 ? undefined : path.join(root, ...steps.slice(0, at + 1));
}

function guardedAt(file: string, entry: Dirent, { atRoot }: { atRoot: boolean }): string[] {
  // The root's own is protected whether it is there or not.
  if (entry.name === ".git") return atRoot ? [] : [file];
  if (NAMES.has(entry.name)) return [file];
  if (!entry.isDirectory()) return [];
  return (DEEPER_NAMES[entry.name] ?? []).map((name) => path.join(file, name)).filter(isRealThing);
}

function isRealThing(file: string): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isSymbolicLink();
}

/** One by one: a folder may have hundreds of thousands. */
async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder);
  } catch {
    // Not a folder any more, or not ours to read.
  }
}

/** More than anybody makes; the oldest are forgotten, and protected from then on. */
const MOST_REMEMBERED = 1_000;

/** Guarded names that turns of this server have made themselves: they stay usable to its turns, as long as they are the same things. */
export class NamesMadeHere {
  readonly #inodes = new Map<string, number>();

  add(name: string): void {
    const inode = inodeOf(name);
    if (inode === undefined) return;
    this.#inodes.set(name, inode);
    for (const oldest of this.#inodes.keys()) if (this.#inodes.size > MOST_REMEMBERED) this.#inodes.delete(oldest);
  }

  has(name: string): boolean {
    const inode = this.#inodes.get(name);
    return inode !== undefined && inodeOf(name) === inode;
  }
}

function inodeOf(file: string): number | undefined {
  return lstatSync(file, { throwIfNoEntry: false })?.ino;
}
