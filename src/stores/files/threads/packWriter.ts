import { randomBytes } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import path from "node:path";
import { crc32 } from "node:zlib";
import type { FileStamp } from "../fileStamp.js";
import { type GramBits, gramBits, searchedForm } from "./gramBits.js";
import { entryLine, type HeadEntry } from "./headEntry.js";
import { idIn, PACK_VERSION, type StoredRow, type StoredTable } from "./shelfPack.js";

/** The suffix of a pack that is being written. */
export const DRAFT = ".new";
const CHUNK = { entries: 64, bytes: 256 * 1024 };

/** Writes a pack beside the existing one, and replaces that when complete. */
export class PackWriter implements Disposable {
  readonly #file: string;
  readonly #draft: string;
  readonly #fd: number;
  readonly #folders: [string, FileStamp | null, StoredRow[]][] = [];
  readonly #bits: GramBits[] = [];
  #entries: HeadEntry[] = [];
  #lines: Buffer[] = [];
  #bytes = 0;
  #written = 0;
  #open = true;

  /** Throws when it cannot be written. */
  constructor(file: string) {
    this.#file = file;
    this.#draft = `${file}.${randomBytes(6).toString("hex")}${DRAFT}`;
    this.#fd = openSync(this.#draft, "wx", 0o600);
  }

  folder(folder: string, stamp: FileStamp | undefined): void {
    this.#endChunk();
    this.#folders.push([folder, stamp ?? null, []]);
  }

  /** Entries must be added in order of names, newest first. */
  add(entry: HeadEntry): void {
    const line = Buffer.from(entryLine(entry));
    if (this.#entries.length >= CHUNK.entries || this.#bytes + line.length > CHUNK.bytes) this.#endChunk();
    this.#entries.push(entry);
    this.#lines.push(line);
    this.#bytes += line.length;
  }

  finish(): void {
    this.#endChunk();
    const table: StoredTable = { version: PACK_VERSION, folders: this.#folders };
    const bytes = Buffer.concat([...this.#bits, Buffer.from(`\n${JSON.stringify(table)}\n`)]);
    const footer = [
      String(this.#written).padStart(12, "0"),
      String(bytes.length).padStart(9, "0"),
      crc32(bytes).toString(16).padStart(8, "0"),
    ];
    this.#write(Buffer.concat([bytes, Buffer.from(`codex-mcpd pack ${footer.join(" ")}\n`)]));
    this.#close();
    renameSync(this.#draft, this.#file);
  }

  /** Removes an unfinished file. */
  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#close();
    rmSync(this.#draft, { force: true });
  }

  #close(): void {
    this.#open = false;
    closeSync(this.#fd);
  }

  #endChunk(): void {
    const [entries, bytes] = [this.#entries, Buffer.concat(this.#lines)];
    const rows = this.#folders.at(-1)?.[2];
    const [newest, oldest] = [entries[0]?.name, entries.at(-1)?.name];
    if (!rows || newest === undefined || oldest === undefined) return;
    const bits = bitsOf(entries);
    rows.push([bytes.length, crc32(bytes), newest, oldest, entries.some(mustLook), bits.length]);
    this.#bits.push(bits);
    this.#write(bytes);
    this.#written += bytes.length;
    [this.#entries, this.#lines, this.#bytes] = [[], [], 0];
  }

  #write(bytes: Buffer): void {
    for (let written = 0; written < bytes.length; ) written += writeSync(this.#fd, bytes, written);
  }
}

function mustLook({ head }: HeadEntry): boolean {
  return head === "look" || head === "none" || head.isCut;
}

function bitsOf(entries: readonly HeadEntry[]): GramBits {
  const heads = entries.flatMap(({ head }) => (typeof head === "string" ? [] : [head]));
  const texts = heads.map(({ words }) => searchedForm(words));
  const wholes = [...heads.map(({ cwd }) => path.resolve(cwd)), ...entries.map(({ name }) => idIn(name))];
  return gramBits({ texts, wholes, entries: entries.length });
}
