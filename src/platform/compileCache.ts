import { lstatSync, mkdirSync, statSync } from "node:fs";
import nodeModule from "node:module";
import path from "node:path";

interface NodeCompileCache {
  readonly enableCompileCache: (folder: string) => unknown;
  readonly flushCompileCache: () => void;
}

/** Node 20 has neither, and 22 has the second one only from 22.10 on. */
const { enableCompileCache: enable, flushCompileCache: flush } = nodeModule as Partial<NodeCompileCache>;
const ACCESSIBLE_TO_OTHERS = 0o077;

/**
 * Has Node keep what V8 compiles of our files, so that the next start is faster. The cache is run as it is found: it lies below CODEX_HOME, which no
 * sandboxed command can write, in a folder that belongs to this user alone. Whatever goes wrong, the start is only slower.
 */
export function enableCompileCache(codexHome: () => string, enabled = enable): void {
  if (!enabled) return;
  try {
    const folder = privateFolder(codexHome());
    if (folder !== undefined) enabled(folder);
  } catch {
    // The program will say it, if it matters.
  }
}

/** V8 takes compiled code only with the flags it was compiled with: what was compiled so far is kept before they change. */
export function keepCompiledSoFar(): void {
  flush?.();
}

function privateFolder(codexHome: string): string | undefined {
  // A home that nobody has made yet is not ours to make.
  if (!statSync(codexHome, { throwIfNoEntry: false })) return undefined;
  const folder = path.join(codexHome, "mcp-server", "compiled");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  const isOurs = process.getuid === undefined || (found.uid === process.getuid() && (found.mode & ACCESSIBLE_TO_OTHERS) === 0);
  return found.isDirectory() && isOurs ? folder : undefined;
}
