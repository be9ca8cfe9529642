import { PatchInvalid } from "./errors.js";
import type { Chunk } from "./parse.js";

/**
 * Applies the chunks of one section to the file's text; throws PatchInvalid when one does not match. Context lines are written as the chunk
 * has them, so a loose match also normalises their whitespace. Line ends are never taken from the patch: a kept line keeps its own, and a
 * new one gets the most frequent end of the lines it replaces.
 */
export function rewrite(text: string, chunks: readonly Chunk[], { path }: { path: string }): string {
  if (hasMoreLines(text, MOST_LINES))
    throw new PatchInvalid(`${path} has more than ${MOST_LINES} lines, too many to be searched. Change it with a command instead.`);
  const file = splitText(text);
  const finder = new LineFinder(file.lines);
  const replacements: Replacement[] = [];
  let cursor = 0;
  for (const chunk of chunks) {
    const from = chunk.anchor === undefined ? cursor : findAnchor(chunk.anchor, { finder, from: cursor, path });
    const replacement = locate(chunk, { finder, from, path, fileLength: file.lines.length });
    cursor = replacement.kind === "append" ? from : replacement.start + replacement.length;
    replacements.push(replacement);
  }
  return assemble(file, replacements);
}

/** The search blocks the server; this many lines take some tenths of a second. */
const MOST_LINES = 400_000;

function hasMoreLines(text: string, most: number): boolean {
  let at = -1;
  for (let count = 0; count <= most; count++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return false;
  }
  return true;
}

interface Replacement {
  /** Appended lines always go to the end, so they do not move the start of the search for the next chunk. */
  readonly kind: "replace" | "append";
  readonly start: number;
  readonly length: number;
  readonly lines: readonly NewLine[];
}

interface NewLine {
  readonly text: string;
  /** The index of the replaced line that this line equals, if any. */
  readonly keeps: number | undefined;
}

interface Block {
  readonly old: readonly string[];
  readonly fresh: readonly NewLine[];
}

function findAnchor(anchor: string, { finder, from, path }: { finder: LineFinder; from: number; path: string }): number {
  const found = finder.find([anchor], { from });
  if (found === undefined) throw new PatchInvalid(`Failed to find context '${anchor}' in ${path}`);
  return found + 1;
}

function locate(chunk: Chunk, where: { finder: LineFinder; from: number; path: string; fileLength: number }): Replacement {
  const { finder, from, path, fileLength } = where;
  const block = blockOf(chunk);
  if (block.old.length === 0) return { kind: "append", start: fileLength, length: 0, lines: block.fresh };
  for (const candidate of [block, ...withoutFinalBlank(block)]) {
    const start = finder.find(candidate.old, { from, atEnd: chunk.atEndOfFile });
    if (start !== undefined) return { kind: "replace", start, length: candidate.old.length, lines: candidate.fresh };
  }
  throw new PatchInvalid(`Failed to find expected lines in ${path}:\n${block.old.join("\n")}`);
}

function blockOf(chunk: Chunk): Block {
  const old: string[] = [];
  const fresh: NewLine[] = [];
  for (const { kind, text } of chunk.lines) {
    if (kind !== "removed") fresh.push({ text, keeps: kind === "context" ? old.length : undefined });
    if (kind !== "added") old.push(text);
  }
  return { old, fresh };
}

/** Models end a chunk with a blank line that means the final newline, or only separates it from the next chunk. */
function withoutFinalBlank({ old, fresh }: Block): Block[] {
  if (old.at(-1) !== "") return [];
  const dropped = old.length - 1;
  const remaining = fresh.at(-1)?.text === "" ? fresh.slice(0, -1) : fresh;
  return [{ old: old.slice(0, -1), fresh: remaining.map(({ text, keeps }) => ({ text, keeps: keeps === dropped ? undefined : keeps })) }];
}

function assemble(file: FileText, replacements: readonly Replacement[]): string {
  const parts = [file.byteOrderMark];
  let next = 0;
  const copyUntil = (stop: number) => {
    for (; next < stop; next++) parts.push(file.lines[next] ?? "", file.ends[next] ?? "");
  };
  for (const { start, length, lines } of replacements.toSorted((a, b) => a.start - b.start)) {
    copyUntil(start);
    const newEnd = usual(file.ends.slice(start, start + length)) ?? file.usualEnd;
    for (const { text, keeps } of lines) parts.push(text, keeps === undefined ? newEnd : (file.ends[start + keeps] ?? newEnd));
    next = start + length;
  }
  copyUntil(file.lines.length);
  return parts.join("");
}

type LineEnd = "\n" | "\r\n";

/** A text file split so that lines can be replaced while everything else stays byte for byte. */
interface FileText {
  readonly byteOrderMark: string;
  readonly lines: readonly string[];
  /** One per line. A last line without an end gets the file's usual one: a patched file always ends with a line end. */
  readonly ends: readonly LineEnd[];
  /** The end that most lines have. */
  readonly usualEnd: LineEnd;
}

function splitText(text: string): FileText {
  const byteOrderMark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const pieces = text.slice(byteOrderMark.length).split("\n");
  const unended = pieces.pop() ?? "";
  const ended: LineEnd[] = pieces.map((piece) => (piece.endsWith("\r") ? "\r\n" : "\n"));
  const usualEnd = usual(ended) ?? "\n";
  const lines = pieces.map((piece, at) => (ended[at] === "\r\n" ? piece.slice(0, -1) : piece));
  if (unended === "") return { byteOrderMark, lines, ends: ended, usualEnd };
  return { byteOrderMark, lines: [...lines, unended], ends: [...ended, usualEnd], usualEnd };
}

/** The most frequent line end; undefined for a tie or if there is none. */
function usual(ends: readonly LineEnd[]): LineEnd | undefined {
  const windows = ends.filter((end) => end === "\r\n").length;
  const unix = ends.length - windows;
  if (windows === unix) return undefined;
  return windows > unix ? "\r\n" : "\n";
}

/** The comparisons, from strict to loose; each is tried on the whole rest of the file before the next. */
const PASSES: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim(), foldTypography];

/**
 * Finds blocks of lines in a file. Each pass has an index of its lines, built when the pass is first needed: a patch with thousands of
 * chunks looks its lines up instead of scanning the file for each.
 */
export class LineFinder {
  readonly #lines: readonly string[];
  readonly #passes = PASSES.map((normalise) => ({ normalise, index: undefined as LineIndex | undefined }));

  readonly #budget = { comparisons: MOST_COMPARISONS };

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** The first position of `block` at or after `from`; with `atEnd`, only the last lines of the file match. */
  find(block: readonly string[], { from, atEnd = false }: { from: number; atEnd?: boolean }): number | undefined {
    const last = this.#lines.length - block.length;
    const first = atEnd ? Math.max(from, last) : from;
    if (first > last) return undefined;
    if (block.length === 0) return first;
    const passes = this.#lines.length > MOST_LINES_FOR_LOOSE_PASSES ? this.#passes.slice(0, 1) : this.#passes;
    for (const pass of passes) {
      pass.index ??= new LineIndex(this.#lines.map(pass.normalise));
      const found = pass.index.find(block.map(pass.normalise), first, this.#budget);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/**
 * The limit for all blocks of a file together. Blocks that nearly match in millions of places are given up, because the search blocks the
 * server.
 */
const MOST_COMPARISONS = 4_000_000;
/** Each loose pass creates a new string for every line. */
const MOST_LINES_FOR_LOOSE_PASSES = 100_000;

class LineIndex {
  readonly #lines: readonly string[];
  readonly #places = new Map<string, number[]>();

  constructor(lines: readonly string[]) {
    this.#lines = lines;
    for (const [at, line] of lines.entries()) {
      const places = this.#places.get(line);
      if (places === undefined) this.#places.set(line, [at]);
      else places.push(at);
    }
  }

  find(block: readonly string[], from: number, budget: { comparisons: number }): number | undefined {
    const { places, offset } = this.#rarest(block);
    const isAt = (start: number) => block.every((line, at) => budget.comparisons-- > 0 && this.#lines[start + at] === line);
    for (let n = firstAtLeast(places, from + offset); n < places.length && budget.comparisons > 0; n++) {
      const start = (places[n] ?? 0) - offset;
      if (isAt(start)) return start;
    }
    return undefined;
  }

  /** The least frequent line of the block: it has few positions to try, and none if the file lacks the line. */
  #rarest(block: readonly string[]): { places: readonly number[]; offset: number } {
    let rarest: { places: readonly number[]; offset: number } | undefined;
    for (const [offset, line] of block.entries()) {
      const places = this.#places.get(line) ?? [];
      if (rarest === undefined || places.length < rarest.places.length) rarest = { places, offset };
    }
    return rarest ?? { places: [], offset: 0 };
  }
}

/** The index of the first of the ascending numbers that is at least `limit`. */
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
