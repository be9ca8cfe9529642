import { readdirSync, readlinkSync } from "node:fs";

/** Ids of running processes with this working folder, in any namespace. */
export function processesIn(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === folder;
      } catch {
        // It ended meanwhile, or may not be inspected.
        return false;
      }
    })
    .map(Number);
}
