import { readdirSync, readlinkSync } from "node:fs";

/** Ids of living processes whose working folder this is, in whatever namespace. */
export function processesIn(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === folder;
      } catch {
        // It ended meanwhile, or is nobody's business.
        return false;
      }
    })
    .map(Number);
}
