import { lstatSync } from "node:fs";

/** More than anybody makes; the oldest are forgotten, and protected from then on. */
const MOST_REMEMBERED = 1_000;

/** Guarded names that turns of this server have made themselves: they stay usable to its turns, as long as they are the same things. */
export class NamesMadeHere {
  readonly #inodes = new Map<string, number>();

  add(name: string): void {
    const inode = inodeOf(name);
    if (inode === undefined) return;
    this.#inodes.set(name, inode);
    for (const oldest of this.#inodes.keys()) if (this.#inodes.size > MOST_REMEMBERED) this.#inodes.delete(oldest);
  }

  has(name: string): boolean {
    const inode = this.#inodes.get(name);
    return inode !== undefined && inodeOf(name) === inode;
  }
}

function inodeOf(file: string): number | undefined {
  return lstatSync(file, { throwIfNoEntry: false })?.ino;
}
