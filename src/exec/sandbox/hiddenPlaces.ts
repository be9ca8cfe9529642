import path from "node:path";
import { isBelow, isInside } from "../../platform/paths.js";

/** A folder that commands must not read, by its real path; what is made in it later is hidden as well. */
export interface HiddenPlace {
  readonly folder: string;
  /** Only these entries are secret; the folder has others that programs need. Absent: all of it. */
  readonly names?: readonly string[];
  /** No thread works in there, but for folders below these entries. Absent: a thread's own folder shows through. */
  readonly sealedBut?: readonly string[];
}

/** The place that keeps a folder from being anybody's workspace. */
export function sealAround(hidden: readonly HiddenPlace[], folder: string): HiddenPlace | undefined {
  return hidden.find(
    (place) =>
      place.sealedBut !== undefined &&
      isInside(folder, place.folder) &&
      !place.sealedBut.some((name) => isBelow(folder, path.join(place.folder, name))),
  );
}

/** What files look like to one command: the machine's own tree, less what is hidden, plus what shows through. */
export interface VisibleFiles {
  readonly hidden: readonly HiddenPlace[];
  /** Folders that are seen although they lie in a hidden one. */
  readonly shown: readonly string[];
}

/** What the kernel makes up: it may never end, wait for ever, or tell about the process that reads it, which is ours. */
const NOT_ON_DISK = ["/proc", "/sys", "/dev"];

/** Whether something may be read, by its real path, for whoever sees these files: the innermost folder decides. */
export function isVisible({ hidden, shown }: VisibleFiles, realPath: string): boolean {
  if (NOT_ON_DISK.some((folder) => isInside(realPath, folder))) return false;
  const hiding = depthAround(realPath, hidden.flatMap(secretsOf));
  return hiding < 0 || depthAround(realPath, shown) > hiding;
}

function secretsOf({ folder, names }: HiddenPlace): string[] {
  return names === undefined ? [folder] : names.map((name) => path.join(folder, name));
}

/** Those that are not inside another one, unless something in between shows through. */
export function outermostHidden({ hidden, shown }: VisibleFiles): HiddenPlace[] {
  const isCoveredBy = (place: HiddenPlace, other: HiddenPlace) => {
    if (place === other || other.names !== undefined) return false;
    if (place.folder === other.folder) return place.names !== undefined || hidden.indexOf(other) < hidden.indexOf(place);
    return isBelow(place.folder, other.folder) && !shown.some((seen) => isBelow(seen, other.folder) && isInside(place.folder, seen));
  };
  return hidden.filter((place) => !hidden.some((other) => isCoveredBy(place, other)));
}

function depthAround(realPath: string, folders: readonly string[]): number {
  return Math.max(-1, ...folders.filter((folder) => isInside(realPath, folder)).map(({ length }) => length));
}
