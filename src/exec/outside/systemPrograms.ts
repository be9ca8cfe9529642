import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

/** Folders of the operating system. The sandbox keeps them read-only even where a writable root contains them, so that what is in them can be trusted. */
export const SYSTEM_FOLDERS = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
  "/run/current-system/sw/bin",
] as const;

/** A program of the operating system, wherever PATH leads: PATH may begin with a folder that commands can write. */
export function systemProgram(name: string): string | undefined {
  return SYSTEM_FOLDERS.map((folder) => path.join(folder, name)).find(isExecutableFile);
}

export function isExecutableFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
