/** Both texts with a number for each line, equal for equal lines. */
export interface NumberedLines {
  readonly a: Int32Array;
  readonly b: Int32Array;
}

/** Lines `oldStart..oldEnd` of the old text became lines `newStart..newEnd` of the new one; ends are exclusive. */
export interface ChangedRegion {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** A line that is the same on both sides. */
export interface Match {
  readonly oldAt: number;
  readonly newAt: number;
}

/** Up to here the shortest edit script is sought (Myers); its time and memory grow with the square of this. */
const MAX_EDITS = 1_000;

/** Myers' greedy search: the matched lines of a shortest edit script, or undefined when it takes more than MAX_EDITS. */
export function shortestEdit({ a, b }: NumberedLines, { oldStart, oldEnd, newStart, newEnd }: ChangedRegion): Match[] | undefined {
  const width = oldEnd - oldStart;
  const height = newEnd - newStart;
  const limit = Math.min(width + height, MAX_EDITS);
  const reach = new Int32Array(2 * limit + 3);
  const center = limit + 1;
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits++) {
    trace.push(reach.slice(center - edits - 1, center + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const left = reach[center + diagonal - 1] ?? 0;
      const right = reach[center + diagonal + 1] ?? 0;
      let x = diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1;
      let y = x - diagonal;
      while (x < width && y < height && a[oldStart + x] === b[newStart + y]) {
        x++;
        y++;
      }
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
