import { lstatSync, statSync } from "node:fs";
import nodeModule from "node:module";
import path from "node:path";
import { makeFolderSync } from "../lib/files/makeFolder.js";

interface NodeCompileCache {
  readonly enableCompileCache: (folder: string) => unknown;
  readonly flushCompileCache: () => void;
}

/** Node 20 has neither function; Node 22 has the second one only since 22.10. */
const { enableCompileCache: enable, flushCompileCache: flush } = nodeModule as Partial<NodeCompileCache>;
const ACCESSIBLE_TO_OTHERS = 0o077;

/**
 * Enables Node's compile cache, so that the next start is faster. V8 runs cached code unchecked, so the cache lies below CODEX_HOME, which
 * no sandboxed command can write, in a folder that only this user can access. If anything fails, the start is only slower.
 */
export function enableCompileCache(codexHome: () => string, enabled = enable): void {
  if (!enabled) return;
  try {
    const folder = privateFolder(codexHome());
    if (folder !== undefined) enabled(folder);
  } catch {
    // The program reports the problem itself, if it matters.
  }
}

/** V8 accepts cached code only with the flags it was compiled with, so the cache is flushed before the flags change. */
export function keepCompiledSoFar(): void {
  flush?.();
}

function privateFolder(codexHome: string): string | undefined {
  // We do not create a CODEX_HOME that does not exist yet.
  if (!statSync(codexHome, { throwIfNoEntry: false })) return undefined;
  const folder = path.join(codexHome, "mcp-server", "compiled");
  makeFolderSync(folder);
  const found = lstatSync(folder);
  const isOurs = process.getuid === undefined || (found.uid === process.getuid() && (found.mode & ACCESSIBLE_TO_OTHERS) === 0);
  return found.isDirectory() && isOurs ? folder : undefined;
}
