/**
 * A limit shared by principals. `take(principal)` grants a slot or refuses. A granted slot is a function that releases it; calling it twice
 * is harmless. Nothing waits here: a caller that queues refused requests tries again after a release.
 *
 * A lone principal may take the whole `limit`. Granted slots cannot be revoked, so there is a `reserve` of further slots for principals
 * that arrive while others hold the whole limit. The number of slots, of limit and reserve together, that must stay free after a `take`:
 *
 * | who asks | slots that stay free |
 * |---|---|
 * | holds its share or more (all ÷ principals that hold a slot, at least two) | the reserve |
 * | holds less than its share | half of the reserve |
 * | holds nothing | none |
 *
 * So a second principal gets a slot at once. While the first holds more than its share, released slots go to the second. Many more
 * principals get one slot each.
 */
export interface SharesOptions {
  /** Slots for a principal that is alone. */
  readonly limit: number;
  /** Further slots, for principals that hold less than their share. Default: an eighth of the limit. */
  readonly reserve?: number;
  /** The most that one principal may hold, even when it is alone. */
  readonly perPrincipal?: number;
}

/** Releases a slot. */
export type Release = () => void;

/** The default reserve as a fraction of the limit. */
const RESERVED_PART = 1 / 8;

export class Shares<Principal = string> {
  readonly #held = new Map<Principal, number>();
  readonly #places: number;
  readonly #reserve: number;
  readonly #perPrincipal: number;
  #taken = 0;

  constructor({ limit, reserve, perPrincipal = limit }: SharesOptions) {
    this.#reserve = reserve ?? Math.max(1, Math.floor(limit * RESERVED_PART));
    this.#places = limit + this.#reserve;
    this.#perPrincipal = perPrincipal;
  }

  /** Slots in use. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(principal: Principal): number {
    return this.#held.get(principal) ?? 0;
  }

  /** Whether `take` would grant a slot now. */
  hasPlaceFor(principal: Principal): boolean {
    const held = this.heldBy(principal);
    const free = this.#places - this.#taken;
    return held < this.#perPrincipal && free > this.#toLeave(held);
  }

  /** Undefined when refused. */
  take(principal: Principal): Release | undefined {
    if (!this.hasPlaceFor(principal)) return undefined;
    this.#count(principal, 1);
    let returned = false;
    return () => {
      if (returned) return;
      returned = true;
      this.#count(principal, -1);
    };
  }

  /** How many slots must stay free if a principal that holds `held` slots takes one more. */
  #toLeave(held: number): number {
    if (held === 0) return 0;
    const share = this.#places / Math.max(2, this.#held.size);
    return held < share ? this.#reserve / 2 : this.#reserve;
  }

  #count(principal: Principal, change: 1 | -1): void {
    this.#taken += change;
    const held = this.heldBy(principal) + change;
    if (held > 0) this.#held.set(principal, held);
    else this.#held.delete(principal);
  }
}

/** How entries of a memory count that several owners share. */
export interface Holding<Entry> {
  readonly ownerOf: (entry: Entry) => unknown;
  /** Default: 1 for each. */
  readonly weightOf?: (entry: Entry) => number;
}

/**
 * The entries to drop so that the others weigh at most `most`. Each is the oldest of the owner that holds most, so that no owner loses
 * entries to one who holds more. Entries are given oldest first.
 */
export function surplusOf<Entry>(entries: Iterable<Entry>, most: number, { ownerOf, weightOf = () => 1 }: Holding<Entry>): Entry[] {
  const held = new Map<unknown, { weight: number; readonly oldestLast: Entry[] }>();
  let total = 0;
  for (const entry of [...entries].toReversed()) {
    const owner = ownerOf(entry);
    const own = held.get(owner) ?? { weight: 0, oldestLast: [] };
    held.set(owner, own);
    own.oldestLast.push(entry);
    own.weight += weightOf(entry);
    total += weightOf(entry);
  }
  const surplus: Entry[] = [];
  while (total > most) {
    const heaviest = [...held.values()].reduce((one, other) => (other.weight > one.weight ? other : one));
    const oldest = heaviest.oldestLast.pop();
    if (oldest === undefined) break;
    heaviest.weight -= weightOf(oldest);
    total -= weightOf(oldest);
    surplus.push(oldest);
  }
  return surplus;
}
