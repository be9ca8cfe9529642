import { lstatSync } from "node:fs";
import { isBelow } from "../../platform/paths.js";
import { RootRefused } from "../errors.js";
import type { WritableRoot } from "./policy.js";

/** Folders that everybody may write, this policy or not. */
const SHARED_TEMPORARY_FOLDERS = ["/tmp", "/var/tmp"];

/**
 * The roots that mounts can enforce. Mounts follow links, so two kinds cannot be: a root reached through a link that a
 * command could have put there (it would choose what the next command may write), and a root where a protected name is a link
 * (nothing can be mounted over the link itself, so a command could replace it). A temporary folder is then left out; for a
 * folder that was asked for nothing runs.
 */
export function enforceableRoots(roots: readonly WritableRoot[]): WritableRoot[] {
  const changeable = [...roots.map(({ root }) => root), ...SHARED_TEMPORARY_FOLDERS];
  return roots.filter((root) => {
    const obstacle = obstacleIn(root, changeable);
    if (obstacle !== undefined && !root.temporary) throw new RootRefused(`The command was not run: ${obstacle}`);
    return obstacle === undefined;
  });
}

function obstacleIn({ given, links, protectedPaths }: WritableRoot, changeable: readonly string[]): string | undefined {
  const passed = links.find((link) => changeable.some((folder) => isBelow(link, folder)));
  if (passed !== undefined)
    return `${given} is reached through the link ${passed}, which commands may change. Name the real folder instead.`;
  const linked = protectedPaths.find((file) => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink());
  if (linked !== undefined)
    return `${linked} is a link, and the sandbox cannot keep a command from replacing it. Put the real folder there (or a file with \`gitdir: …\` for .git), or use danger-full-access.`;
  return undefined;
}
