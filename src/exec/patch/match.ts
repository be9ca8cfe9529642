/** The comparisons, from strict to loose; each is tried on the whole rest of the file before the next. */
const PASSES: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim(), foldTypography];

/**
 * Finds blocks of lines in a file. Every pass keeps an index of where each line occurs, built when the pass is first needed:
 * a patch with thousands of chunks looks its lines up instead of reading the file again for each.
 */
export class LineFinder {
  readonly #passes = PASSES.map((normalise) => ({ normalise, index: undefined as LineIndex | undefined }));

  constructor(private readonly lines: readonly string[]) {}

  /** Where `block` first occurs at or after `from`; with `atEnd` only the last lines of the file will do. */
  find(block: readonly string[], { from, atEnd = false }: { from: number; atEnd?: boolean }): number | undefined {
    const last = this.lines.length - block.length;
    const first = atEnd ? Math.max(from, last) : from;
    if (first > last) return undefined;
    if (block.length === 0) return first;
    for (const pass of this.#passes) {
      pass.index ??= new LineIndex(this.lines.map(pass.normalise));
      const found = pass.index.find(block.map(pass.normalise), first);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** A block that nearly fits in millions of places is given up, not waited for: nobody else is served meanwhile. */
const MOST_COMPARISONS = 1_000_000;

class LineIndex {
  readonly #places = new Map<string, number[]>();

  constructor(private readonly lines: readonly string[]) {
    for (const [at, line] of lines.entries()) {
      const places = this.#places.get(line);
      if (places === undefined) this.#places.set(line, [at]);
      else places.push(at);
    }
  }

  find(block: readonly string[], from: number): number | undefined {
    const { places, offset } = this.#rarest(block);
    let comparisons = 0;
    const isAt = (start: number) => block.every((line, at) => ++comparisons > 0 && this.lines[start + at] === line);
    for (let n = firstAtLeast(places, from + offset); n < places.length && comparisons < MOST_COMPARISONS; n++) {
      const start = (places[n] ?? 0) - offset;
      if (isAt(start)) return start;
    }
    return undefined;
  }

  /** The block's line that occurs least: few places to try, none at all if one line is missing in the file. */
  #rarest(block: readonly string[]): { places: readonly number[]; offset: number } {
    let rarest: { places: readonly number[]; offset: number } | undefined;
    for (const [offset, line] of block.entries()) {
      const places = this.#places.get(line) ?? [];
      if (rarest === undefined || places.length < rarest.places.length) rarest = { places, offset };
    }
    return rarest ?? { places: [], offset: 0 };
  }
}

/** The index of the first of the ascending numbers that is not below `limit`. */
function firstAtLeast(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Models write plain quotes, dashes and spaces where the file has typographic ones. */
function foldTypography(line: string): string {
  return line
    .trim()
    .replaceAll(/[\u2010-\u2015\u2212]/g, "-")
    .replaceAll(/[\u2018-\u201b]/g, "'")
    .replaceAll(/[\u201c-\u201f]/g, '"')
    .replaceAll(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, " ");
}
