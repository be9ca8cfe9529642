import { foldersBetween, isBelow, isInside } from "../../platform/paths.js";
import type { FileView } from "./fileView.js";
import { isVisible, outermostHidden } from "./hiddenPlaces.js";

/** One place in the sandbox's file tree, which is read-only where nothing else is said. */
export type Mount = { readonly path: string } & (
  | { readonly access: "write" }
  /** Read-only, whether it exists or not. */
  | { readonly access: "protected" }
  /** Read-only where something hidden or writable is around it. */
  | { readonly access: "shown" }
  | { readonly access: "hidden"; readonly hasMountsBelow: boolean }
  /** The folder without some of its entries. */
  | { readonly access: "screened"; readonly without: readonly string[] }
);

/**
 * Outermost first, so that each is mounted on the one around it. Folders between a writable root and what is special in it
 * are mounted on themselves, because a folder that is a mount cannot be renamed: moving the folder around `.git` would
 * otherwise be the way to put another one in its place.
 */
export function planMounts(view: FileView): Mount[] {
  const writable = view.roots.map(({ root }) => root);
  const hidden = outermostHidden(view);
  const inRoots = (file: string) => writable.some((root) => isBelow(file, root)) && isVisible(view, file);
  const protectedPaths = view.roots.flatMap((root) => root.protectedPaths).filter(inRoots);
  const kept = view.roots
    .flatMap((root) => root.kept)
    .filter((file) => inRoots(file) && !protectedPaths.some((other) => isInside(file, other)));
  const shown = view.shown.filter(
    (folder) => !writable.includes(folder) && hidden.some((place) => isBelow(folder, place.folder)) && isVisible(view, folder),
  );
  const mounts = new Map<string, Mount>();
  const put = (mount: Mount) => mounts.set(mount.path, mount);
  for (const special of [...writable, ...protectedPaths, ...kept, ...hidden.map(({ folder }) => folder)])
    for (const path of writable.flatMap((root) => (isBelow(special, root) ? foldersBetween(root, special) : [])))
      if (![...protectedPaths, ...kept].some((file) => isInside(path, file)) && isVisible(view, path)) put({ path, access: "write" });
  for (const path of protectedPaths) put({ path, access: "protected" });
  for (const path of [...shown, ...kept]) put({ path, access: "shown" });
  for (const path of writable) put({ path, access: "write" });
  for (const { folder: path, names } of hidden) {
    if (names === undefined) put({ path, access: "hidden", hasMountsBelow: [...mounts.keys()].some((file) => isBelow(file, path)) });
    else put({ path, access: "screened", without: names });
  }
  return [...mounts.values()].sort(outermostFirst);
}

function outermostFirst(a: Mount, b: Mount): number {
  return depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : 1);
}

function depthOf(file: string): number {
  return file.split("/").filter(Boolean).length;
}
