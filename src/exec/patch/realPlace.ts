import { lstat, realpath } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import type { PatchPlan } from "./plan.js";

/** Decides about a path that has no link in it. */
export type MayWrite = (realPath: string) => boolean;

/** Where an entry really is: a folder without links in its path, and the entry's name in it. */
export interface RealPlace {
  readonly folder: string;
  readonly name: string;
}

/** With `followLink` a link at the path leads to what it points to, which must exist; without, the link itself is meant. */
export async function realPlace(target: string, { followLink }: { followLink: boolean }): Promise<RealPlace> {
  if (followLink && (await isLink(target))) {
    const real = await realpath(target);
    return { folder: path.dirname(real), name: path.basename(real) };
  }
  return { folder: await realFolder(path.dirname(target)), name: path.basename(target) };
}

export interface TouchedPlace {
  /** Of the file as the plan knows it. */
  readonly path: string;
  readonly real: string;
}

/**
 * Every real path the plan would write or remove, move destinations included; of a link that is removed also the place it leads to, because
 * what it holds is shown or moved. A path that cannot be resolved is given as it is: applying the plan will fail on it.
 */
export async function placesOf({ files }: Pick<PatchPlan, "files">): Promise<TouchedPlace[]> {
  const places = files.flatMap(({ path: target, before, after }) => {
    if (before === undefined && after === undefined) return [];
    const ways = after === undefined ? [false, true] : [true];
    return ways.map(async (followLink) => ({ path: target, real: await realPlace(target, { followLink }).then(joined, () => target) }));
  });
  return await Promise.all(places);
}

export function joined({ folder, name }: RealPlace): string {
  return path.join(folder, name);
}

async function isLink(target: string): Promise<boolean> {
  try {
    return (await lstat(target)).isSymbolicLink();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Folders that are still to be made are named below the real path of the nearest one that exists. */
async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return path.join(await realFolder(path.dirname(folder)), path.basename(folder));
  }
}

function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}
