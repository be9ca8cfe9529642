import { mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { statsOf } from "../fileStamp.js";
import { DRAFT, PackWriter } from "./packWriter.js";
import { PackReader, type PackTable } from "./shelfPack.js";

const PACK = ".pack";
/** Older drafts were left by killed processes. */
const DRAFT_LIFE_MS = 60 * 60_000;

/** The files of the index, one pack per shelf. Any process can rebuild them from the rollouts. */
export class ShelfPacks {
  readonly #home: string;
  readonly #folder: string;
  readonly #tables = new Map<string, PackTable>();

  constructor(codexHome: string) {
    this.#home = path.join(codexHome, "mcp-server");
    this.#folder = path.join(this.#home, "index");
  }

  /** The caller must dispose it. */
  open(shelf: string): PackReader | undefined {
    const reader = PackReader.open(this.#fileOf(shelf), this.#tables.get(shelf));
    if (reader) this.#tables.set(shelf, reader.table);
    else this.#tables.delete(shelf);
    return reader;
  }

  /** Throws when it cannot be written. Does not recreate a deleted home. */
  write(shelf: string): PackWriter {
    for (const folder of [this.#home, this.#folder]) makeFolder(folder);
    return new PackWriter(this.#fileOf(shelf));
  }

  /** Drops the index of this shelf. */
  remove(shelf: string): void {
    this.#tables.delete(shelf);
    rmSync(this.#fileOf(shelf), { force: true });
  }

  /** Removes packs without a shelf, and drafts of killed processes. */
  tidy(shelves: ReadonlySet<string>): void {
    for (const name of this.#names()) {
      const file = path.join(this.#folder, name);
      const isOld = name.endsWith(DRAFT) && Date.now() - (statsOf(file)?.mtimeMs ?? 0) > DRAFT_LIFE_MS;
      const isLost = name.endsWith(PACK) && !shelves.has(name.slice(0, -PACK.length));
      if (isOld || isLost) rmSync(file, { force: true });
    }
    for (const shelf of this.#tables.keys()) if (!shelves.has(shelf)) this.#tables.delete(shelf);
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return [];
    }
  }

  #fileOf(shelf: string): string {
    return path.join(this.#folder, `${shelf}${PACK}`);
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
