import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { isBelow, isInside } from "../../platform/paths.js";
import type { HiddenPlace } from "./hiddenPlaces.js";

interface MountPoint {
  readonly device: string;
  /** The mounted part, as a path in its file system. */
  readonly root: string;
  readonly at: string;
}

const MOUNT_TABLE = "/proc/self/mountinfo";

/** Adds the same places under every other path that a bind mount gives them: a place is hidden by its path. */
export function withMountAliases(places: readonly HiddenPlace[], table = readTable()): HiddenPlace[] {
  const mounts = table.split("\n").flatMap(mountIn);
  const aliases = places.flatMap((place) => aliasesOf(place, mounts));
  const fresh = aliases.filter(
    ({ folder }, at) => !places.some((place) => place.folder === folder) && aliases.findIndex((other) => other.folder === folder) === at,
  );
  return [...places, ...fresh];
}

function readTable(): string {
  try {
    return readFileSync(MOUNT_TABLE, "utf8");
  } catch {
    // Other systems have no such table.
    return "";
  }
}

/** `ID PARENT DEVICE ROOT PLACE …`; blanks and the like in paths are octal escapes. */
function mountIn(line: string): MountPoint[] {
  const [, , device, root, at] = line.split(" ");
  if (device === undefined || root === undefined || at === undefined) return [];
  return [{ device, root: unescapedPath(root), at: unescapedPath(at) }];
}

function unescapedPath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function aliasesOf(place: HiddenPlace, mounts: readonly MountPoint[]): HiddenPlace[] {
  const around = mounts
    .filter(({ at }) => isInside(place.folder, at))
    .reduce<MountPoint | undefined>((best, mount) => (best && best.at.length > mount.at.length ? best : mount), undefined);
  if (!around) return [];
  const own = path.join(around.root, path.relative(around.at, place.folder));
  return mounts
    .filter((mount) => mount.device === around.device && mount.at !== around.at)
    .flatMap(({ root, at }) => {
      if (isInside(own, root)) return sameAt({ ...place, folder: path.join(at, path.relative(root, own)) }, place.folder);
      return isBelow(root, own) ? partAt(at, path.relative(own, root), place) : [];
    });
}

/** The part of the place that is mounted elsewhere. */
function partAt(at: string, part: string, { folder, names, sealedBut }: HiddenPlace): HiddenPlace[] {
  const [first = ""] = part.split(path.sep);
  if ((names !== undefined && !names.includes(first)) || sealedBut?.includes(first)) return [];
  return sameAt({ folder: at, ...(sealedBut && { sealedBut: [] }) }, path.join(folder, part));
}

/** The table also has mounts that are covered by others. A single file cannot be hidden like a folder: its folder is shown without it. */
function sameAt(alias: HiddenPlace, original: string): HiddenPlace[] {
  const [there, here] = [alias.folder, original].map((file) => statIfAny(file));
  if (!there || !here || there.ino !== here.ino || there.dev !== here.dev) return [];
  if (there.isDirectory()) return [alias];
  return [{ folder: path.dirname(alias.folder), names: [path.basename(alias.folder)] }];
}

function statIfAny(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
