import { killAtOnce, type ProcessTree } from "./killTree.js";

const living = new Set<Omit<ProcessTree, "exitCode">>();

/**
 * Ends a program at the latest when this process ends, when no time is left to ask it. Returns what to call once nothing of it
 * lives any more. After a SIGKILL of ours only a namespace does the same.
 */
export function endWithUs(tree: Omit<ProcessTree, "exitCode">): () => void {
  if (living.size === 0) process.once("exit", endAll);
  living.add(tree);
  return () => {
    living.delete(tree);
    if (living.size === 0) process.off("exit", endAll);
  };
}

function endAll(): void {
  for (const tree of living) killAtOnce(tree);
}
