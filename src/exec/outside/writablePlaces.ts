import path from "node:path";
import { isInside, resolvedAsFarAsPossible } from "../../platform/paths.js";

/** Everybody may write these, whatever a thread's policy says. */
export const SHARED_FOLDERS = ["/tmp", "/var/tmp", "/dev/shm"] as const;

/**
 * Where sandboxed commands of any turn may write, now or in a turn before. Nothing in here may decide what runs outside the sandbox.
 * Places are only ever added: what an earlier turn has left behind stays.
 */
export class WritablePlaces {
  readonly #folders = new Set<string>();

  constructor(folders: readonly string[]) {
    for (const folder of folders) this.open(folder);
  }

  /** By its name and by where it leads. */
  open(folder: string): void {
    const named = path.resolve(folder);
    this.#folders.add(named);
    this.#folders.add(resolvedAsFarAsPossible(named));
  }

  covers(file: string): boolean {
    for (const folder of this.#folders) if (isInside(file, folder)) return true;
    return false;
  }
}
