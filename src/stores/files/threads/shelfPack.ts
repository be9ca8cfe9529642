import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { isFields } from "../../../lib/fields.js";
import { type FileStamp, isSameStamp, stampOf } from "../fileStamp.js";
import type { GramBits } from "./gramBits.js";
import { type EntryKind, entryIn, type HeadEntry, NAME_LENGTH } from "./headEntry.js";

/*
 * A pack is one file of the index: lines of entries by folder, newest first, split into chunks; then a filter per chunk; then a table of
 * chunks and folders; then that table's position. Checksums detect a torn or damaged file, which is ignored.
 */
export const PACK_VERSION = 1;
const FOOTER_BYTES = 48;
const FOOTER = /^codex-mcpd pack (\d{12}) (\d{9}) ([0-9a-f]{8})\n$/;
const MOST_TABLE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** A run of entries of one folder. */
export interface ChunkRow {
  readonly at: number;
  readonly bytes: number;
  readonly crc: number;
  /** Names of its newest and its oldest entry. */
  readonly newest: string;
  readonly oldest: string;
  /** For some of its files the index lacks the data to exclude them. */
  readonly mustLook: boolean;
  readonly bits: GramBits;
}

interface PackFolder {
  readonly stamp: FileStamp | undefined;
  readonly rows: readonly ChunkRow[];
}

export interface PackTable {
  readonly readAs: FileStamp;
  readonly folders: ReadonlyMap<string, PackFolder>;
}

/** The entries of one chunk, in their file format. */
export class PackChunk {
  readonly #bytes: Buffer;
  readonly #starts: number[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    for (let at = 0; at < bytes.length; at = bytes.indexOf(NEWLINE, at) + 1) this.#starts.push(at);
  }

  get size(): number {
    return this.#starts.length;
  }

  keys(): IterableIterator<number> {
    return this.#starts.keys();
  }

  nameAt(index: number): string {
    const start = this.#starts[index] ?? 0;
    return this.#bytes.toString("latin1", start, start + NAME_LENGTH);
  }

  kindAt(index: number): EntryKind {
    return String.fromCharCode(this.#bytes[(this.#starts[index] ?? 0) + NAME_LENGTH] ?? 0) as EntryKind;
  }

  entryAt(index: number): HeadEntry | undefined {
    const end = (this.#starts[index + 1] ?? this.#bytes.length) - 1;
    return entryIn(this.#bytes.toString("utf8", this.#starts[index] ?? 0, end));
  }

  /** The entries that contain these bytes anywhere. */
  holding(text: Buffer): ReadonlySet<number> {
    const found = new Set<number>();
    let index = 0;
    for (let at = this.#bytes.indexOf(text); at !== -1; at = this.#bytes.indexOf(text, this.#starts[index + 1] ?? this.#bytes.length)) {
      while ((this.#starts[index + 1] ?? this.#bytes.length) <= at) index++;
      found.add(index);
      if (index + 1 >= this.size) break;
    }
    return found;
  }

  /** Binary search: names are in descending order. */
  find(name: string): HeadEntry | undefined {
    let [low, high] = [0, this.size - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.nameAt(middle) > name) low = middle + 1;
      else high = middle;
    }
    return this.size > 0 && this.nameAt(low) === name ? this.entryAt(low) : undefined;
  }
}

/** An open pack. It stays unchanged, even if the file is replaced meanwhile. */
export class PackReader implements Disposable {
  #last: { readonly row: ChunkRow; readonly chunk: PackChunk | undefined } | undefined;
  #buffer = Buffer.alloc(0);

  readonly #fd: number;

  private constructor(
    fd: number,
    readonly table: PackTable,
  ) {
    this.#fd = fd;
  }

  /** Undefined when the file is missing or unusable. A known table need not be read again. */
  static open(file: string, known: PackTable | undefined): PackReader | undefined {
    let fd: number;
    try {
      fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      const stats = fstatSync(fd);
      const stamp = stampOf(stats);
      const table = isSameStamp(known?.readAs, stamp) ? known : stats.isFile() ? tableIn(fd, stamp) : undefined;
      if (table) return new PackReader(fd, table);
    } catch {
      // Treated as missing.
    }
    closeSync(fd);
    return undefined;
  }

  /** The rows of a folder, if it has not changed since they were made. */
  rowsOf(folder: string, stamp: FileStamp): readonly ChunkRow[] | undefined {
    const found = this.table.folders.get(folder);
    return isSameStamp(found?.stamp, stamp) ? found?.rows : undefined;
  }

  /** Undefined when damaged. Valid until the next call, which reuses the same buffer. */
  chunk(row: ChunkRow): PackChunk | undefined {
    if (this.#last?.row !== row) this.#last = { row, chunk: this.#read(row) };
    return this.#last.chunk;
  }

  /** The entry of a file, even if its folder has changed. */
  find(folder: string, name: string): HeadEntry | undefined {
    const rows = this.table.folders.get(folder)?.rows ?? [];
    const last = this.#last?.row;
    const row = last && isWithin(last, name) && rows.includes(last) ? last : rowWith(rows, name);
    return row && this.chunk(row)?.find(name);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  #read({ at, bytes, crc }: ChunkRow): PackChunk | undefined {
    if (this.#buffer.length < bytes) this.#buffer = Buffer.allocUnsafe(bytes);
    const buffer = this.#buffer.subarray(0, bytes);
    if (readSync(this.#fd, buffer, 0, bytes, at) !== bytes || crc32(buffer) !== crc || buffer.at(-1) !== NEWLINE) return undefined;
    return new PackChunk(buffer);
  }
}

function isWithin({ newest, oldest }: ChunkRow, name: string): boolean {
  return name <= newest && name >= oldest;
}

function rowWith(rows: readonly ChunkRow[], name: string): ChunkRow | undefined {
  let [low, high] = [0, rows.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (!row) return undefined;
    if (isWithin(row, name)) return row;
    if (name > row.newest) high = middle - 1;
    else low = middle + 1;
  }
  return undefined;
}

function tableIn(fd: number, readAs: FileStamp): PackTable | undefined {
  const footer = bytesAt(fd, readAs.size - FOOTER_BYTES, FOOTER_BYTES);
  const [, at, length, crc] = FOOTER.exec(footer?.toString("latin1") ?? "") ?? [];
  const [start, bytes] = [Number(at), Number(length)];
  if (crc === undefined || bytes > MOST_TABLE_BYTES || start + bytes + FOOTER_BYTES !== readAs.size) return undefined;
  const table = bytesAt(fd, start, bytes);
  if (!table || crc32(table) !== Number.parseInt(crc, 16)) return undefined;
  return parsedTable(table, { readAs, start });
}

function bytesAt(fd: number, at: number, bytes: number): Buffer | undefined {
  if (at < 0) return undefined;
  const buffer = Buffer.allocUnsafe(bytes);
  return readSync(fd, buffer, 0, bytes, at) === bytes ? buffer : undefined;
}

export type StoredRow = readonly [bytes: number, crc: number, newest: string, oldest: string, mustLook: boolean, bits: number];

export interface StoredTable {
  readonly version: number;
  readonly folders: readonly (readonly [folder: string, stamp: FileStamp | null, rows: readonly StoredRow[]])[];
}

/** The checksum proves that this program wrote the table. */
function parsedTable(bytes: Buffer, { readAs, start }: { readonly readAs: FileStamp; readonly start: number }): PackTable | undefined {
  const end = bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1;
  const stored: unknown = JSON.parse(bytes.toString("utf8", end));
  if (!isFields(stored) || stored["version"] !== PACK_VERSION) return undefined;
  const folders = new Map<string, PackFolder>();
  let [at, bitsAt] = [0, 0];
  for (const [folder, stamp, stored_rows] of (stored as unknown as StoredTable).folders) {
    const rows = stored_rows.map(([length, crc, newest, oldest, mustLook, bits]): ChunkRow => {
      const row = { at, bytes: length, crc, newest, oldest, mustLook, bits: bytes.subarray(bitsAt, bitsAt + bits) };
      at += length;
      bitsAt += bits;
      return row;
    });
    folders.set(folder, { stamp: stamp ?? undefined, rows });
  }
  return at === start ? { readAs, folders } : undefined;
}

/** The thread's id at the end of a rollout's name. */
export function idIn(name: string): string {
  return name.slice(-42, -6);
}
