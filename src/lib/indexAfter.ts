/** Where the entries after this number begin. Entries are in order; numbers may have gaps, since some are left out with time. */
export function indexAfter(entries: readonly { readonly seq: number }[], seq: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
