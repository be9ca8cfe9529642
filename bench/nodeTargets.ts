import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { cacheFolder, nodeProgram } from "./peers.js";

/** The pinned Node versions on which our server is measured. */
export const NODE_VERSIONS = { "20": "20.20.2", "22": "22.23.3", "24": "24.21.0" } as const;
export type NodeLine = keyof typeof NODE_VERSIONS;
export const NODE_LINES = ["20", "22", "24"] as const satisfies readonly NodeLine[];
/** The cases that depend on the Node version. */
export const NODE_CASES: readonly string[] = ["start", "turns", "command", "deltas", "memory", "http"];

/** The last commit with a module loader and a code cache of our own (decision 65). */
const BEFORE = "af510f8";
const BUILD_DEADLINE_MS = 2 * 60_000;

export type NodeTargetName = `node-${NodeLine}` | `before-${NodeLine}`;

export interface NodeTarget {
  readonly name: NodeTargetName;
  /** Node itself and the program file, for the command line. */
  readonly program: (signal: AbortSignal) => Promise<readonly [node: string, main: string]>;
}

/** Our server, now and before decision 65, on each Node version. */
export const NODE_TARGETS: readonly NodeTarget[] = NODE_LINES.flatMap((line): NodeTarget[] => {
  const node = (signal: AbortSignal) => nodeProgram(NODE_VERSIONS[line], signal);
  return [
    { name: `node-${line}`, program: async (signal) => [await node(signal), path.resolve("dist/main.js")] },
    { name: `before-${line}`, program: async (signal) => [await node(signal), await builtBefore(signal)] },
  ];
});

/** Built once, from a temporary worktree, with the packages that are installed here. */
async function builtBefore(signal: AbortSignal): Promise<string> {
  const built = path.join(cacheFolder(), "peers", `before-${BEFORE}`);
  if (!existsSync(path.join(built, "main.js"))) {
    const tree = path.join(cacheFolder(), `worktree-${process.pid}`);
    const run = (file: string, args: readonly string[], cwd: string) =>
      promisify(execFile)(file, args, { cwd, signal, timeout: BUILD_DEADLINE_MS });
    await run("git", ["worktree", "add", "--detach", "--force", tree, BEFORE], process.cwd());
    try {
      symlinkSync(path.resolve("node_modules"), path.join(tree, "node_modules"));
      await run(process.execPath, ["scripts/build.mjs"], tree);
      mkdirSync(path.dirname(built), { recursive: true });
      rmSync(built, { recursive: true, force: true });
      renameSync(path.join(tree, "dist"), built);
    } finally {
      rmSync(tree, { recursive: true, force: true });
      await run("git", ["worktree", "prune"], process.cwd());
    }
  }
  return path.join(built, "main.js");
}
