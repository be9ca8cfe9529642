/**
 * The changed regions in order, without adjacent ones. Texts that differ in very many lines are first split at the lines that occur exactly
 * once on both sides, as patience diff does.
 */
export function changedRegions(before: readonly string[], after: readonly string[]): ChangedRegion[] {
  // Most texts differ in a few lines: only the part between the first and the last difference is compared.
  const rest = withoutCommonEnds({ a: before, b: after }, { oldStart: 0, oldEnd: before.length, newStart: 0, newEnd: after.length });
  return merged(compare({ ...numbered(before, after, rest), budget: { steps: MOST_STEPS } }, rest));
}

/** The limit of steps for all parts of a text together. Parts that remain then count as replaced. */
const MOST_STEPS = 20_000_000;

/** Equal lines get equal numbers, so that each text is compared only once. Lines outside the region get none. */
function numbered(before: readonly string[], after: readonly string[], region: ChangedRegion): Omit<NumberedLines, "budget"> {
  const numbers = new Map<string, number>();
  const numbersOf = (lines: readonly string[], start: number, end: number): Int32Array => {
    const result = new Int32Array(lines.length);
    for (let at = start; at < end; at++) {
      const line = lines[at] ?? "";
      const number = numbers.get(line) ?? numbers.size;
      numbers.set(line, number);
      result[at] = number;
    }
    return result;
  };
  return { a: numbersOf(before, region.oldStart, region.oldEnd), b: numbersOf(after, region.newStart, region.newEnd) };
}

function compare(lines: NumberedLines, region: ChangedRegion): ChangedRegion[] {
  const rest = withoutCommonEnds(lines, region);
  if (rest.oldStart === rest.oldEnd || rest.newStart === rest.newEnd) return gapsBetween([], rest);
  const matches = shortestEdit(lines, rest);
  if (matches !== undefined) return gapsBetween(matches, rest);
  const cuts = lines.budget.steps > 0 ? uniqueMatches(lines, rest) : [];
  return cuts.length === 0 ? [rest] : gapsBetween(cuts, rest).flatMap((gap) => compare(lines, gap));
}

function withoutCommonEnds<Line>({ a, b }: { a: ArrayLike<Line>; b: ArrayLike<Line> }, region: ChangedRegion): ChangedRegion {
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

/** Both texts with a number for each line, equal for equal lines. */
interface NumberedLines {
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly budget: { steps: number };
}

/** Lines `oldStart..oldEnd` of the old text became lines `newStart..newEnd` of the new one; ends are exclusive. */
export interface ChangedRegion {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** A line that is equal on both sides. */
interface Match {
  readonly oldAt: number;
  readonly newAt: number;
}

/** Up to this number of edits the shortest edit script is computed (Myers); time and memory grow with its square. */
const MAX_EDITS = 1_000;

/** Myers' greedy algorithm: the matched lines of a shortest edit script, or undefined when it needs more than MAX_EDITS, or the budget is spent. */
function shortestEdit({ a, b, budget }: NumberedLines, { oldStart, oldEnd, newStart, newEnd }: ChangedRegion): Match[] | undefined {
  const width = oldEnd - oldStart;
  const height = newEnd - newStart;
  const limit = Math.min(width + height, MAX_EDITS);
  const reach = new Int32Array(2 * limit + 3);
  const center = limit + 1;
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= limit && budget.steps > 0; edits++) {
    budget.steps -= edits + 1;
    trace.push(reach.slice(center - edits - 1, center + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const left = reach[center + diagonal - 1] ?? 0;
      const right = reach[center + diagonal + 1] ?? 0;
      let x = diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1;
      const start = x;
      let y = x - diagonal;
      while (x < width && y < height && a[oldStart + x] === b[newStart + y]) {
        x++;
        y++;
      }
      budget.steps -= x - start;
      reach[center + diagonal] = x;
      if (x >= width && y >= height) return walkBack(trace, { x, y, oldStart, newStart });
    }
  }
  return undefined;
}

function walkBack(trace: readonly Int32Array[], end: { x: number; y: number; oldStart: number; newStart: number }): Match[] {
  const matches: Match[] = [];
  let { x, y } = end;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits];
    const center = edits + 1;
    const diagonal = x - y;
    const left = reach?.[center + diagonal - 1] ?? 0;
    const right = reach?.[center + diagonal + 1] ?? 0;
    const inserted = diagonal === -edits || (diagonal !== edits && left < right);
    const startX = edits === 0 ? 0 : inserted ? right : left + 1;
    for (; x > startX; x--, y--) matches.push({ oldAt: end.oldStart + x - 1, newAt: end.newStart + y - 1 });
    if (inserted) y--;
    else x--;
  }
  return matches.reverse();
}

/** The longest series of lines that occur exactly once in each region and are in the same order on both sides. */
function uniqueMatches({ a, b }: NumberedLines, { oldStart, oldEnd, newStart, newEnd }: ChangedRegion): Match[] {
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

/** The longest subsequence whose new positions increase with the old ones (patience sorting). */
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
