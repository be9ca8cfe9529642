import { PatchInvalid } from "./errors.js";
import type { Chunk } from "./parse.js";

/**
 * The file's text after the chunks of one section; throws PatchInvalid when one does not fit. Context lines are written as the
 * chunk has them, so a loose match also normalises their blanks. Line ends are never taken from the patch: a kept line keeps
 * its own, a new one gets the usual end of the lines it replaces.
 */
export function rewrite(text: string, chunks: readonly Chunk[], { path }: { path: string }): string {
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

interface Replacement {
  /** Appended lines go to the end whatever comes before them, so they do not move the place where the next chunk is sought. */
  readonly kind: "replace" | "append";
  readonly start: number;
  readonly length: number;
  readonly lines: readonly NewLine[];
}

interface NewLine {
  readonly text: string;
  /** Which of the replaced lines this one is, if it was there before. */
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

/** Models end a chunk with a blank line that stands for the final newline, or only separates it from the next chunk. */
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

/** A text file taken apart so that lines can be replaced and everything else stays byte for byte. */
interface FileText {
  readonly byteOrderMark: string;
  readonly lines: readonly string[];
  /** One per line. A last line without an end gets the file's own: a patched file always ends with a line end. */
  readonly ends: readonly LineEnd[];
  /** The end most lines have. */
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

/** The most frequent end; undefined when both are equally frequent, or there is none. */
function usual(ends: readonly LineEnd[]): LineEnd | undefined {
  const windows = ends.filter((end) => end === "\r\n").length;
  const unix = ends.length - windows;
  if (windows === unix) return undefined;
  return windows > unix ? "\r\n" : "\n";
}

/** The comparisons, from strict to loose; each is tried on the whole rest of the file before the next. */
const PASSES: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim(), foldTypography];

/**
 * Finds blocks of lines in a file. Every pass keeps an index of where each line occurs, built when the pass is first needed:
 * a patch with thousands of chunks looks its lines up instead of reading the file again for each.
 */
export class LineFinder {
  readonly #lines: readonly string[];
  readonly #passes = PASSES.map((normalise) => ({ normalise, index: undefined as LineIndex | undefined }));

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** Where `block` first occurs at or after `from`; with `atEnd` only the last lines of the file will do. */
  find(block: readonly string[], { from, atEnd = false }: { from: number; atEnd?: boolean }): number | undefined {
    const last = this.#lines.length - block.length;
    const first = atEnd ? Math.max(from, last) : from;
    if (first > last) return undefined;
    if (block.length === 0) return first;
    for (const pass of this.#passes) {
      pass.index ??= new LineIndex(this.#lines.map(pass.normalise));
      const found = pass.index.find(block.map(pass.normalise), first);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** A block that nearly fits in millions of places is given up, not waited for: nobody else is served meanwhile. */
const MOST_COMPARISONS = 1_000_000;

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

  find(block: readonly string[], from: number): number | undefined {
    const { places, offset } = this.#rarest(block);
    let comparisons = 0;
    const isAt = (start: number) => block.every((line, at) => ++comparisons > 0 && this.#lines[start + at] === line);
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
