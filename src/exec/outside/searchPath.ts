import path from "node:path";
import { isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";
import type { OutsidePrograms } from "./outsidePrograms.js";
import { isExecutableFile } from "./systemPrograms.js";

export interface SearchedBy {
  /** The PATH of the command, as it is. */
  readonly searchPath: string;
  /** What is relative in it counts from here. */
  readonly cwd: string;
  /** The thread's folder: whoever made it could have put programs there. */
  readonly workspace: string;
}

/** Whether the program that a command would get by this name is one that nobody can have planted: the first on its own search path, whatever comes later. */
export function leadsToTrusted(
  name: string,
  { searchPath, cwd, workspace }: SearchedBy,
  outside: Pick<OutsidePrograms, "trusts">,
): boolean {
  const folders = searchPath.split(path.delimiter).map((folder) => path.resolve(cwd, folder));
  const found = folders.map((folder) => path.join(folder, name)).find(isExecutableFile);
  if (found === undefined || !outside.trusts(found)) return false;
  return ![found, resolvedAsFarAsPossible(found)].some((file) => isInside(file, resolvedAsFarAsPossible(workspace)));
}
