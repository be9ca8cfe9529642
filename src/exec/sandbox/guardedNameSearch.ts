import { foldersBetween, isBelow, isInside } from "../../platform/paths.js";
import { closedFolderAround, sightOf } from "./closedFolders.js";
import { FIRST, findGuardedNames, type GuardedNames, MOST_FOUND, type NameSet, type SearchBounds, USUAL } from "./guardedNames.js";

/** The limit of mounts for guarded names and for the folders on their paths. The time to start a command grows with the square of all mounts. */
const MOST_MOUNTS = 512;
/** The limit of further mounts, for closed folders. */
const MOST_CLOSED = 256;

export interface GuardedPlaces extends GuardedNames {
  /**
   * The names and the closed folders: what must be read-only for commands. If that is not enough, a searched folder itself, which therefore
   * cannot be opened to commands.
   */
  readonly places: readonly string[];
}

interface SearchedPlaces {
  /** Names that do not count. */
  readonly besides?: NameSet;
  /** Closed folders that hide nothing. */
  readonly harmless?: NameSet;
  /** Folders outside the project which commands may write too. The search in them is always short. */
  readonly further?: readonly string[];
}

/** The most projects that are cached; after eviction the next search counts as the first again. */
const MOST_PROJECTS = 100;

/**
 * Finds guarded names and caches those of each project: a command that creates thousands of folders can keep later searches from reaching
 * the names behind them, and must not remove their protection that way.
 */
export class GuardedNameSearch {
  /** `isThorough`: not only as a further folder, where searches are short. */
  readonly #byProject = new Map<string, { readonly names: readonly string[]; readonly isThorough: boolean }>();

  /** The guarded names that exist now. Never rejects. */
  async find(root: string, { besides = new Set(), harmless = new Set(), further = [] }: SearchedPlaces = {}): Promise<GuardedPlaces> {
    const inProject = await this.#findIn(root, { besides, harmless, first: FIRST });
    const all = [{ folder: root, ...inProject }];
    for (const folder of further) all.push({ folder, ...(await this.#findIn(folder, { besides, harmless, first: USUAL })) });
    const known = distinct(all.map((searched) => searched.known));
    const found = distinct([known, ...all.map(({ names }) => names)]);
    const mounts = new MountBudget([root, ...further]);
    // Names that a command creates in one folder must not displace those remembered in another.
    const names = found.slice(0, Math.max(MOST_FOUND, known.length)).filter((name) => mounts.pays(name, { most: MOST_MOUNTS }));
    const forNames = mounts.made;
    const closed = distinct(all.map((searched) => searched.closed));
    const protectable = closed.filter((folder) => mounts.pays(folder, { most: forNames + MOST_CLOSED }));
    const isTooMuch = protectable.length < closed.length;
    const unsafe = all.filter((searched) => searched.closed.some((place) => isTooMuch || isInside(searched.folder, place)));
    const places = [...names, ...unsafe.map(({ folder }) => folder), ...protectable];
    return { names, closed, places, isComplete: inProject.isComplete && names.length === found.length };
  }

  async #findIn(
    root: string,
    { besides, harmless, first }: Required<Omit<SearchedPlaces, "further">> & { readonly first: SearchBounds },
  ): Promise<GuardedNames & { readonly known: readonly string[] }> {
    const before = this.#byProject.get(root);
    const remembered = before?.names ?? [];
    const sights = new Map(remembered.map((name) => [name, sightOf(name)]));
    const seen = (sight: ReturnType<typeof sightOf>) => remembered.filter((name) => sights.get(name) === sight);
    const bounds = before?.isThorough ? USUAL : first;
    const known = seen("real").filter((name) => !besides.has(name));
    const found = await findGuardedNames(root, { bounds, known, besides });
    // A more thorough search may have ended meanwhile.
    const latest = this.#byProject.get(root) ?? before;
    const kept = latest?.names.filter((name) => sights.get(name) !== "gone") ?? [];
    const isThorough = latest?.isThorough === true || bounds === FIRST;
    this.#byProject.delete(root);
    this.#byProject.set(root, { names: distinct([kept, found.names]).slice(0, MOST_FOUND), isThorough });
    for (const oldest of this.#byProject.keys()) if (this.#byProject.size > MOST_PROJECTS) this.#byProject.delete(oldest);
    const others = found.closed.filter((folder) => !harmless.has(folder));
    return { ...found, known, closed: distinct([seen("unseen").map(closedFolderAround), others]) };
  }
}

function distinct(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}

/** Counts the mounts that the sandbox makes for guarded places: one for each, and one for each folder on their paths. */
class MountBudget {
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
