import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { type ThreadId, threadIdOf } from "../../../lib/ids.js";
import type { ThreadPage, ThreadQuery, ThreadSummary } from "../../../threads/store.js";
import { stampOf, statsOf } from "../fileStamp.js";
import { type HeadEntry, headFor, type KnownHead } from "./headEntry.js";
import { checkPosition, reachable, rolloutNamesIn, type Shelf, type ShelfFolder, shelvesOf } from "./rolloutShelves.js";
import { type ChunkRow, idIn, type PackChunk, type PackReader } from "./shelfPack.js";
import type { ShelfPacks } from "./shelfPacks.js";
import { ThreadFilter } from "./threadFilter.js";
import { previewOf, readThreadHead, type ThreadHead } from "./threadHead.js";
import type { ThreadTitles } from "./threadTitles.js";

/** The limit of files opened for one page. A page with fewer results than requested still has the cursor of the next one. */
export const MOST_LOOKED_AT = 1_000;
/** The limit of entries in changed folders examined for one page. */
const MOST_GONE_THROUGH = 2_000;
/** The limit of names of unwanted threads that one page skips. */
const MOST_PASSED = 25_000;
const MOST_CHECKED = 250;
/** The amount of work before yielding to the event loop. */
const WORK_AT_ONCE = 100;

interface ListParts {
  readonly codexHome: string;
  readonly packs: ShelfPacks;
  readonly titles: ThreadTitles;
  /** The number of newest files that each search compares with the index; the others are checked afterwards. */
  readonly mostChecked?: number | undefined;
  readonly mostPassed?: number | undefined;
}

export interface ListedPage extends ThreadPage {
  /** The number of files that had to be opened because the index lacked them. */
  readonly looked: number;
}

/**
 * Pages of a home's threads, from the index where there is one, otherwise from the files. The index never decides what exists: a changed
 * folder is read, and a file is only shown in its current state.
 */
export class RolloutList {
  readonly #parts: ListParts;

  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  async page(query: ThreadQuery): Promise<ListedPage> {
    const { limit, cursor, archived = false } = query;
    let last = cursor === undefined ? undefined : checkPosition(cursor, { archived });
    const titles = await this.#parts.titles.read();
    const filter = new ThreadFilter(query, titles);
    const effort = new Effort(this.#parts.mostPassed ?? MOST_PASSED);
    const threads: ThreadSummary[] = [];
    for await (const place of this.#places({ archived, after: last, filter, effort })) {
      const found = place.isPassed ? undefined : await this.#threadAt(place, { filter, effort });
      // Only an existing thread justifies another page.
      if (found && threads.length >= limit) return pageUpTo(last, threads, effort);
      if (found) threads.push({ ...withTitle(found, titles), path: place.path });
      last = place.position;
      if (effort.isSpent) return pageUpTo(last, threads, effort);
    }
    return { threads, looked: effort.looked };
  }

  /** Candidates for the page, in list order. */
  async *#places(search: PlaceSearch): AsyncGenerator<Place> {
    for (const shelf of shelvesOf(this.#parts.codexHome, search)) yield* this.#placesOn(shelf, search);
  }

  async *#placesOn(shelf: Shelf, search: PlaceSearch): AsyncGenerator<Place> {
    using pack = this.#parts.packs.open(shelf.name);
    for (const folder of shelf.folders()) {
      await search.effort.work(0.2);
      const stats = statsOf(folder.path);
      const rows = stats && pack?.rowsOf(folder.name, stampOf(stats));
      if (pack && rows) yield* this.#placesInPack(folder, { ...search, pack, rows });
      else yield* placesInFolder(folder, { ...search, pack });
    }
  }

  async *#placesInPack(folder: ShelfFolder, search: PackSearch): AsyncGenerator<Place> {
    const { pack, rows, filter, effort } = search;
    const after = nameAfter(folder, search.after);
    for (const row of rows) {
      if (after !== undefined && row.oldest >= after) continue;
      if (!filter.mayWantAmong(row.bits)) continue;
      const all = filter.isOpen || effort.checked < (this.#parts.mostChecked ?? MOST_CHECKED);
      if (!all && !row.mustLook && !filter.mayBeAmong(row.bits)) continue;
      await effort.work(2);
      const chunk = pack.chunk(row);
      if (!chunk) {
        // Damaged: the rest of the folder is read from its files.
        const rest = after !== undefined && after <= row.newest ? after : `${row.newest}~`;
        yield* placesInFolder(folder, { ...search, pack: undefined, after: `${folder.prefix}${rest}` });
        return;
      }
      for (const index of all ? chunk.keys() : wantedIn(chunk, filter)) {
        const name = chunk.nameAt(index);
        if (after !== undefined && name >= after) continue;
        if (filter.wants(idIn(name))) {
          effort.checked++;
          yield { ...placeOf(folder, name), known: chunk.entryAt(index) };
        } else effort.passed++;
      }
      if (effort.isSpent) yield passed(folder, row.oldest);
    }
  }

  /** The thread at a place, if it matches. */
  async #threadAt({ path: file, name, known }: Place, { filter, effort }: Judging): Promise<ThreadSummary | undefined> {
    const id = threadIdOf(idIn(name));
    const stats = statsOf(file);
    if (!stats) return undefined;
    const indexed = headFor(known, stampOf(stats));
    if (indexed === "none") return undefined;
    const verdict = indexed && filter.accepts(id, indexed);
    if (verdict === false) return undefined;
    if (indexed && verdict === true) return summaryOf(id, indexed, stats.mtime);
    const { head, effort: spent } = await readThreadHead(file, this.#parts.codexHome);
    await effort.look(spent);
    if (head?.threadId !== id) return undefined;
    const seen = knownHead(head);
    return filter.accepts(id, seen) === true ? summaryOf(id, seen, head.lastUsedAt) : undefined;
  }
}

/** A file that may be on the page. */
interface Place {
  readonly position: string;
  readonly path: string;
  readonly name: string;
  readonly known: HeadEntry | undefined;
  /** There is no thread to show: the place only tells how far a search for certain threads has come. */
  readonly isPassed?: true;
}

interface Judging {
  readonly filter: ThreadFilter;
  readonly effort: Effort;
}

interface PlaceSearch extends Judging {
  readonly archived: boolean;
  readonly after: string | undefined;
}

interface PackSearch extends PlaceSearch {
  readonly pack: PackReader;
  readonly rows: readonly ChunkRow[];
}

/** Reads the names that exist now. The index is still used for files that have not changed. */
async function* placesInFolder(
  folder: ShelfFolder,
  { pack, after: position, filter, effort }: PlaceSearch & { readonly pack: PackReader | undefined },
): AsyncGenerator<Place> {
  const after = nameAfter(folder, position);
  for (const name of reachable(() => rolloutNamesIn(folder.path))) {
    if (after !== undefined && name >= after) continue;
    if (!filter.wants(idIn(name))) {
      effort.passed++;
      if (effort.isSpent) yield passed(folder, name);
      continue;
    }
    effort.gone++;
    await effort.work(0.2);
    yield { ...placeOf(folder, name), known: pack?.find(folder.name, name) };
  }
}

/** Undefined when all names of the folder come after the position. */
function nameAfter({ prefix }: ShelfFolder, position: string | undefined): string | undefined {
  return position?.startsWith(prefix) ? position.slice(prefix.length) : undefined;
}

function placeOf(folder: ShelfFolder, name: string): Pick<Place, "position" | "path" | "name"> {
  return { position: `${folder.prefix}${name}`, path: path.join(folder.path, name), name };
}

function passed(folder: ShelfFolder, name: string): Place {
  return { ...placeOf(folder, name), known: undefined, isPassed: true };
}

/** The entries of a chunk that may match, as far as their unparsed lines show. */
function wantedIn(chunk: PackChunk, filter: ThreadFilter): number[] {
  const { quotedCwd, text, isSearch } = filter;
  const there = quotedCwd && chunk.holding(quotedCwd);
  const said = isSearch && text ? chunk.holding(text) : undefined;
  const isWanted = (index: number) => {
    if (chunk.kindAt(index) === "n" || chunk.kindAt(index) === "l") return true;
    if (there && !there.has(index)) return false;
    return !said || said.has(index) || chunk.kindAt(index) === "c" || filter.hasTitled(idIn(chunk.nameAt(index)));
  };
  return [...chunk.keys()].filter(isWanted);
}

/** The cost of a page so far. */
class Effort {
  looked = 0;
  checked = 0;
  gone = 0;
  passed = 0;
  #work = 0;
  readonly #mostPassed: number;

  constructor(mostPassed: number) {
    this.#mostPassed = mostPassed;
  }

  get isSpent(): boolean {
    return this.looked >= MOST_LOOKED_AT || this.gone >= MOST_GONE_THROUGH || this.passed >= this.#mostPassed;
  }

  look(spent: number): Promise<void> | undefined {
    this.looked += spent;
    return this.work(2 * spent);
  }

  work(amount: number): Promise<void> | undefined {
    this.#work += amount;
    if (this.#work < WORK_AT_ONCE) return undefined;
    this.#work = 0;
    return setImmediate();
  }
}

export function knownHead({ cwd, startedAt, words }: ThreadHead): KnownHead {
  return { cwd, startedAt, preview: previewOf(words), words: words.toLowerCase(), isCut: false };
}

function summaryOf(id: ThreadId, { preview, cwd, startedAt }: KnownHead, usedAt: Date): ThreadSummary {
  const lastUsedAt = usedAt.toISOString();
  return { id, preview, cwd, startedAt: startedAt ?? lastUsedAt, lastUsedAt };
}

function withTitle(summary: ThreadSummary, titles: ReadonlyMap<string, string>): ThreadSummary {
  const name = titles.get(summary.id);
  return name === undefined ? summary : { ...summary, name };
}

function pageUpTo(last: string | undefined, threads: readonly ThreadSummary[], { looked }: Effort): ListedPage {
  return last === undefined ? { threads, looked } : { threads, nextCursor: last, looked };
}
