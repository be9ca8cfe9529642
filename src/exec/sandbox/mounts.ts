import { foldersBetween, isBelow, isInside } from "./paths.js";
import type { WritableRoot } from "./policy.js";

/** One place in the sandbox's file tree, which is read-only where nothing else is said. */
export interface Mount {
  readonly path: string;
  readonly access: "write" | "read" | "hidden";
}

/**
 * Outermost first, so that each is mounted on the one around it. Folders between a writable root and what is special in it
 * are mounted on themselves, because a folder that is a mount cannot be renamed: moving the folder around `.git` would
 * otherwise be the way to put another one in its place.
 */
export function planMounts(roots: readonly WritableRoot[], hidden: readonly string[]): Mount[] {
  const writable = roots.map(({ root }) => root);
  const protectedPaths = roots.flatMap((root) => root.protectedPaths).filter((file) => writable.some((root) => isBelow(file, root)));
  const access = new Map<string, Mount["access"]>();
  for (const special of [...writable, ...protectedPaths, ...hidden])
    for (const folder of writable.flatMap((root) => (isBelow(special, root) ? foldersBetween(root, special) : [])))
      if (!protectedPaths.some((file) => isInside(folder, file))) access.set(folder, "write");
  for (const file of protectedPaths) access.set(file, "read");
  for (const root of writable) access.set(root, "write");
  for (const file of hidden) access.set(file, "hidden");
  return [...access].map(([path, kind]) => ({ path, access: kind })).sort(outermostFirst);
}

function outermostFirst(a: Mount, b: Mount): number {
  return depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : 1);
}

function depthOf(file: string): number {
  return file.split("/").filter(Boolean).length;
}
