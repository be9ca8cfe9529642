import type { ChangedRegion, Match, NumberedLines } from "./shortestEdit.js";

/** As many as possible of the lines that occur once in the old and once in the new region, in the same order on both sides. */
export function uniqueMatches({ a, b }: NumberedLines, { oldStart, oldEnd, newStart, newEnd }: ChangedRegion): Match[] {
  const inNew = uniquePlaces(b, newStart, newEnd);
  const matches: Match[] = [];
  for (const [line, oldAt] of uniquePlaces(a, oldStart, oldEnd)) {
    const newAt = inNew.get(line);
    if (newAt !== undefined) matches.push({ oldAt, newAt });
  }
  return longestRising(matches.sort((one, other) => one.oldAt - other.oldAt));
}

function uniquePlaces(lines: Int32Array, start: number, end: number): Map<number, number> {
  const places = new Map<number, number>();
  const repeated = new Set<number>();
  for (let at = start; at < end; at++) {
    const line = lines[at] ?? 0;
    if (places.has(line)) repeated.add(line);
    places.set(line, at);
  }
  for (const line of repeated) places.delete(line);
  return places;
}

/** The longest subsequence whose new places rise as the old ones do (patience sorting). */
function longestRising(matches: readonly Match[]): Match[] {
  const piles: number[] = [];
  const previous: (number | undefined)[] = [];
  for (const [at, { newAt }] of matches.entries()) {
    let low = 0;
    let high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((matches[piles[middle] ?? 0]?.newAt ?? 0) < newAt) low = middle + 1;
      else high = middle;
    }
    previous.push(piles[low - 1]);
    piles[low] = at;
  }
  const rising: Match[] = [];
  for (let at = piles.at(-1); at !== undefined; at = previous[at]) rising.push(...matches.slice(at, at + 1));
  return rising.reverse();
}
