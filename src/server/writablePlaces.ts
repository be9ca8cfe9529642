import path from "node:path";
import { SHARED_FOLDERS, WritablePlaces } from "../exec/outside/outsidePrograms.js";

export interface StartFolders {
  readonly serverCwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The default working folder. */
  readonly cwd?: string | undefined;
  readonly allowRoots?: readonly string[] | undefined;
}

/** The folders that commands may write before any thread has named others. */
export function writablePlaces({ serverCwd, env, cwd, allowRoots = [] }: StartFolders): WritablePlaces {
  const given = [env["TMPDIR"], cwd].filter((folder): folder is string => folder !== undefined && folder !== "");
  return new WritablePlaces([...SHARED_FOLDERS, serverCwd, ...[...given, ...allowRoots].map((folder) => path.resolve(serverCwd, folder))]);
}
