import { homedir } from "node:os";
import path from "node:path";
import { isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";
import type { HiddenPlace } from "./hiddenPlaces.js";

/**
 * How a file with secrets is hidden: with the folder around it, because a mask on the file alone is lost when somebody replaces
 * the file. The folder is the one that the name is in and, where that is a link, the one that it leads to.
 */
export function secretPlaces(file: string, env: Readonly<Record<string, string | undefined>>): HiddenPlace[] {
  const named = path.join(resolvedAsFarAsPossible(path.dirname(file)), path.basename(file));
  const places = [named, resolvedAsFarAsPossible(named)].map((place) => placeOf(place, env));
  return places.filter(({ folder }, at) => places.findIndex((other) => other.folder === folder) === at);
}

/** Where programs live, or people: only the file itself is left out of such a folder. */
function placeOf(file: string, env: Readonly<Record<string, string | undefined>>): HiddenPlace {
  const folder = path.dirname(file);
  const onPath = (env["PATH"] ?? "").split(path.delimiter).filter((place) => path.isAbsolute(place));
  const needed = [env["HOME"], homedir(), process.execPath, ...onPath].filter((place): place is string => place !== undefined);
  const isCommon = path.dirname(folder) === "/" || needed.some((place) => isInside(resolvedAsFarAsPossible(place), folder));
  return isCommon ? { folder, names: [path.basename(file)] } : { folder };
}
