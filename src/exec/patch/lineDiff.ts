import { type ChangedRegion, type Match, type NumberedLines, shortestEdit } from "./shortestEdit.js";
import { uniqueMatches } from "./uniqueMatches.js";

/**
 * The changed regions in order, none touching another. Texts that differ in very many lines are first cut at the lines
 * that occur exactly once on both sides, as patience diff does.
 */
export function changedRegions(before: readonly string[], after: readonly string[]): ChangedRegion[] {
  const lines = numbered(before, after);
  return merged(compare(lines, { oldStart: 0, oldEnd: before.length, newStart: 0, newEnd: after.length }));
}

/** Equal lines get equal numbers, so that lines are compared once. */
function numbered(before: readonly string[], after: readonly string[]): NumberedLines {
  const numbers = new Map<string, number>();
  const numberOf = (line: string): number => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  return { a: Int32Array.from(before, numberOf), b: Int32Array.from(after, numberOf) };
}

function compare(lines: NumberedLines, region: ChangedRegion): ChangedRegion[] {
  const rest = withoutCommonEnds(lines, region);
  if (rest.oldStart === rest.oldEnd || rest.newStart === rest.newEnd) return gapsBetween([], rest);
  const matches = shortestEdit(lines, rest);
  if (matches !== undefined) return gapsBetween(matches, rest);
  const cuts = uniqueMatches(lines, rest);
  return cuts.length === 0 ? [rest] : gapsBetween(cuts, rest).flatMap((gap) => compare(lines, gap));
}

function withoutCommonEnds({ a, b }: NumberedLines, region: ChangedRegion): ChangedRegion {
  let { oldStart, oldEnd, newStart, newEnd } = region;
  while (oldStart < oldEnd && newStart < newEnd && a[oldStart] === b[newStart]) {
    oldStart++;
    newStart++;
  }
  while (oldStart < oldEnd && newStart < newEnd && a[oldEnd - 1] === b[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  return { oldStart, oldEnd, newStart, newEnd };
}

function gapsBetween(matches: readonly Match[], { oldStart, oldEnd, newStart, newEnd }: ChangedRegion): ChangedRegion[] {
  const gaps: ChangedRegion[] = [];
  let from = { oldStart, newStart };
  for (const { oldAt, newAt } of [...matches, { oldAt: oldEnd, newAt: newEnd }]) {
    if (oldAt > from.oldStart || newAt > from.newStart) gaps.push({ ...from, oldEnd: oldAt, newEnd: newAt });
    from = { oldStart: oldAt + 1, newStart: newAt + 1 };
  }
  return gaps;
}

function merged(regions: readonly ChangedRegion[]): ChangedRegion[] {
  const result: ChangedRegion[] = [];
  for (const region of regions) {
    const last = result.at(-1);
    if (last?.oldEnd === region.oldStart && last.newEnd === region.newStart) {
      result[result.length - 1] = { ...last, oldEnd: region.oldEnd, newEnd: region.newEnd };
    } else result.push(region);
  }
  return result;
}
