import path from "node:path";
import { describe } from "../../../lib/errors.js";
import { monotonicMs, Tasks } from "../../../lib/promises.js";
import { type FileStamp, isSameStamp, isSettled, stampOf, statsOf } from "../fileStamp.js";
import { type HeadEntry, keptHead } from "./headEntry.js";
import { knownHead } from "./rolloutList.js";
import { reachable, rolloutNamesIn, type Shelf, type ShelfFolder, shelvesOf } from "./rolloutShelves.js";
import { idIn, type PackReader } from "./shelfPack.js";
import type { ShelfPacks } from "./shelfPacks.js";
import { readThreadHead } from "./threadHead.js";

const LEAST_INDEXED = 500;
/** The minimum interval between index updates triggered by lists: shorter when a list had to open many files. */
const AGAIN_MS = { usual: 60_000, lacking: 5_000, failed: 10 * 60_000 };
const MANY_LOOKED_AT = 50;
/** The number of files processed before yielding to other work, and the pause after it. */
const AT_ONCE = 64;
const REST_MS = 1;

interface IndexerOptions {
  readonly codexHome: string;
  readonly packs: ShelfPacks;
  /** The minimum number of threads; for fewer, reading the files is as fast. */
  readonly leastIndexed?: number | undefined;
  /** The file system's clock, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** Called occasionally when the index cannot be maintained; lists are correct without it. */
  readonly warn: (line: string) => void;
}

/** Builds and updates the index, after lists and never before them. Does not delay the exit of the process. */
export class ShelfIndexer {
  readonly #options: IndexerOptions;
  readonly #tasks: Tasks;
  readonly #now: () => number;
  #notBefore = 0;
  #running = false;
  #done = 0;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#tasks = new Tasks((_, error) => {
      this.#notBefore = monotonicMs() + AGAIN_MS.failed;
      options.warn(`the index of threads cannot be written, so searching stays slow: ${describe(error)}`);
    });
  }

  /** Called after a page, with the number of files that had to be opened. */
  listed({ looked }: { readonly looked: number }): void {
    const early = looked >= MANY_LOOKED_AT ? AGAIN_MS.usual - AGAIN_MS.lacking : 0;
    if (this.#running || monotonicMs() < this.#notBefore - early) return;
    this.#start();
  }

  /** Updates everything now. Resolves when the index matches the files. */
  async refresh(): Promise<void> {
    await this.#tasks.settle();
    this.#start();
    await this.#tasks.settle();
  }

  #start(): void {
    this.#running = true;
    this.#notBefore = 0;
    this.#tasks.start("the index of threads", async () => {
      try {
        await this.#goOverAll();
      } finally {
        this.#running = false;
        this.#notBefore = Math.max(this.#notBefore, monotonicMs() + AGAIN_MS.usual);
      }
    });
  }

  async #goOverAll(): Promise<void> {
    const { codexHome, packs } = this.#options;
    const shelves = [false, true].flatMap((archived) => [...shelvesOf(codexHome, { archived })]);
    if (!(await this.#areMany(shelves))) return;
    for (const shelf of shelves) await this.#goOver(shelf);
    packs.tidy(new Set(shelves.map(({ name }) => name)));
  }

  async #areMany(shelves: readonly Shelf[]): Promise<boolean> {
    let files = 0;
    for (const shelf of shelves)
      for (const { path: folder } of shelf.folders()) {
        files += reachable(() => rolloutNamesIn(folder)).length;
        if (files >= (this.#options.leastIndexed ?? LEAST_INDEXED)) return true;
        await this.#pause();
      }
    return false;
  }

  async #goOver(shelf: Shelf): Promise<void> {
    const { packs } = this.#options;
    using pack = packs.open(shelf.name);
    const folders = shelf.folders().filter((folder) => statsOf(folder.path));
    if (!pack && folders.length === 0) return;
    if (pack && (await this.#isUpToDate(pack, folders))) return;
    using writer = packs.write(shelf.name);
    for (const folder of folders) {
      const stats = statsOf(folder.path);
      const stamp = stats && stampOf(stats);
      writer.folder(folder.name, stamp && isSettled(stamp, this.#now()) ? stamp : undefined);
      for (const name of reachable(() => rolloutNamesIn(folder.path))) writer.add(await this.#entryOf(folder, name, pack));
    }
    writer.finish();
  }

  async #isUpToDate(pack: PackReader, folders: readonly ShelfFolder[]): Promise<boolean> {
    if (folders.length !== pack.table.folders.size) return false;
    for (const folder of folders) {
      const stats = statsOf(folder.path);
      const rows = stats && pack.rowsOf(folder.name, stampOf(stats));
      if (!rows) return false;
      for (const row of rows) {
        const chunk = pack.chunk(row);
        if (!chunk) return false;
        for (const index of chunk.keys()) {
          const entry = chunk.entryAt(index);
          if (!entry || !isSameStamp(entry.stamp, stampNow(path.join(folder.path, entry.name)))) return false;
          await this.#pause();
        }
      }
    }
    return true;
  }

  async #entryOf(folder: ShelfFolder, name: string, pack: PackReader | undefined): Promise<HeadEntry> {
    await this.#pause();
    const file = path.join(folder.path, name);
    const known = pack?.find(folder.name, name);
    if (known && isSameStamp(known.stamp, stampNow(file))) return known;
    const { stamp, head, isOwn } = await readThreadHead(file, this.#options.codexHome);
    if (!isOwn || !stamp) return { name, stamp: stampNow(file), head: "look" };
    if (!isSettled(stamp, this.#now())) return { name, stamp: undefined, head: "look" };
    return { name, stamp, head: head?.threadId === idIn(name) ? keptHead(knownHead(head)) : "none" };
  }

  async #pause(): Promise<void> {
    if (++this.#done % AT_ONCE !== 0) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, REST_MS).unref();
    });
  }
}

const NOTHING_THERE: FileStamp = { inode: 0, size: 0, modifiedAt: 0, changedAt: 0 };

function stampNow(file: string): FileStamp {
  const stats = statsOf(file);
  return stats ? stampOf(stats) : NOTHING_THERE;
}
