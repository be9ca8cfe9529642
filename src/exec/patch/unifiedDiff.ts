import { type ChangedRegion, changedRegions } from "./lineDiff.js";

/** The hunks of a unified diff, from the first `@@` on; empty for equal texts. */
export function unifiedDiff(before: string, after: string, { context }: { context: number }): string {
  const texts = { before: linesOf(before), after: linesOf(after) };
  const hunks = grouped(changedRegions(texts.before, texts.after), { context });
  return hunks.map((regions) => hunkText(regions, { ...texts, context })).join("");
}

type Hunk = readonly [ChangedRegion, ...ChangedRegion[]];

/** Lines include their ends: a last line without an end differs from the same line with one. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Regions whose context lines would meet or overlap share a hunk. */
function grouped(regions: readonly ChangedRegion[], { context }: { context: number }): Hunk[] {
  const hunks: [ChangedRegion, ...ChangedRegion[]][] = [];
  for (const region of regions) {
    const hunk = hunks.at(-1);
    const last = hunk?.at(-1);
    if (hunk !== undefined && last !== undefined && region.oldStart - last.oldEnd <= 2 * context) hunk.push(region);
    else hunks.push([region]);
  }
  return hunks;
}

function hunkText(
  hunk: Hunk,
  { before, after, context }: { before: readonly string[]; after: readonly string[]; context: number },
): string {
  const first = hunk[0];
  const last = hunk.at(-1) ?? first;
  const lead = Math.min(context, first.oldStart);
  const trail = Math.min(context, before.length - last.oldEnd);
  const oldRange = rangeText(first.oldStart - lead, last.oldEnd + trail);
  const newRange = rangeText(first.newStart - lead, last.newEnd + trail);
  const parts = [`@@ -${oldRange} +${newRange} @@\n`];
  let next = first.oldStart - lead;
  for (const { oldStart, oldEnd, newStart, newEnd } of hunk) {
    parts.push(marked(" ", before.slice(next, oldStart)));
    parts.push(marked("-", before.slice(oldStart, oldEnd)));
    parts.push(marked("+", after.slice(newStart, newEnd)));
    next = oldEnd;
  }
  parts.push(marked(" ", before.slice(next, next + trail)));
  return parts.join("");
}

/** Lines are numbered from one; an empty range names the line before it. */
function rangeText(start: number, end: number): string {
  const length = end - start;
  if (length === 1) return `${start + 1}`;
  return `${length === 0 ? start : start + 1},${length}`;
}

function marked(mark: string, lines: readonly string[]): string {
  return lines.map((line) => (line.endsWith("\n") ? `${mark}${line}` : `${mark}${line}\n\\ No newline at end of file\n`)).join("");
}
