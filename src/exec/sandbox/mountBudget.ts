import { foldersBetween, isBelow } from "../../platform/paths.js";

/** Counts the mounts that the sandbox makes for guarded places: one for each, and one for each folder on their paths. */
export class MountBudget {
  readonly #roots: readonly string[];
  readonly #mounted = new Set<string>();

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  get made(): number {
    return this.#mounted.size;
  }

  /** False if the mounts for this place would exceed the limit. */
  pays(place: string, { most }: { readonly most: number }): boolean {
    const around = this.#roots.filter((root) => isBelow(place, root)).flatMap((root) => foldersBetween(root, place));
    const more = new Set([place, ...around].filter((mount) => !this.#mounted.has(mount)));
    if (this.#mounted.size + more.size > most) return false;
    for (const mount of more) this.#mounted.add(mount);
    return true;
  }
}
