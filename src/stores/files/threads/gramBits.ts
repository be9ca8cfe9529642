import { crc32 } from "node:zlib";

/**
 * A Bloom filter of the 2- and 3-byte sequences and the whole words in some texts: a missing entry proves that the texts do not contain it.
 */
export type GramBits = Buffer;

const SIZES = { least: 64, most: 2_048, perEntry: 16 };
const GRAMS = { short: 2, long: 3 };

/** The normalised form in which the index stores and searches text, as bytes: substrings stay substrings. */
export function searchedForm(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

interface GramSources {
  readonly texts: readonly Buffer[];
  readonly wholes: readonly string[];
  readonly entries: number;
}

export function gramBits({ texts, wholes, entries }: GramSources): GramBits {
  const wanted = 2 ** Math.ceil(Math.log2(entries * SIZES.perEntry + 1));
  const bits = Buffer.alloc(Math.min(Math.max(wanted, SIZES.least), SIZES.most));
  const set = (at: number) => {
    bits[at >>> 3] = (bits[at >>> 3] ?? 0) | (1 << (at & 7));
  };
  const most = bits.length * 8;
  for (const text of texts)
    for (const length of [GRAMS.short, GRAMS.long])
      for (let at = 0; at + length <= text.length; at++) set(gramPlace(text, { at, length }, most));
  for (const whole of wholes) for (const at of wholePlaces(whole, most)) set(at);
  return bits;
}

/** False: none of the texts contains it. Single bytes are not indexed. */
export function mayHoldText(bits: GramBits, text: Buffer): boolean {
  const length = Math.min(Math.max(text.length, GRAMS.short), GRAMS.long);
  for (let at = 0; at + length <= text.length; at++) if (!isSet(bits, gramPlace(text, { at, length }, bits.length * 8))) return false;
  return true;
}

export function mayHoldWhole(bits: GramBits, whole: string): boolean {
  return wholePlaces(whole, bits.length * 8).every((at) => isSet(bits, at));
}

function isSet(bits: GramBits, at: number): boolean {
  return ((bits[at >>> 3] ?? 0) & (1 << (at & 7))) !== 0;
}

/** The number of positions is a power of two. */
function gramPlace(text: Buffer, { at, length }: { readonly at: number; readonly length: number }, places: number): number {
  const third = length === GRAMS.long ? 0x1000000 | ((text[at + 2] ?? 0) << 16) : 0;
  const gram = (text[at] ?? 0) | ((text[at + 1] ?? 0) << 8) | third;
  return (Math.imul(gram, 0x9e3779b1) >>> 15) & (places - 1);
}

/** Several positions, because a single one is too often set by other text. */
function wholePlaces(whole: string, places: number): number[] {
  const sum = crc32(whole);
  return [sum, sum >>> 16, Math.imul(sum, 0x9e3779b1) >>> 15, Math.imul(sum, 0x85ebca6b) >>> 15].map((at) => (at >>> 0) & (places - 1));
}
