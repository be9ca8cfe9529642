import { PatchInvalid } from "./errors.js";
import { type FileText, splitText, usual } from "./fileText.js";
import { LineFinder } from "./match.js";
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
