/**
 * A limit that principals share: `take(principal)` gives a place, or refuses; what it gives is called once to give the place back
 * (calling it again is harmless). Nothing waits here: whoever queues what was refused asks again when a place comes back.
 *
 * A lone principal may have the whole `limit`. Places cannot be taken away again, so there are some more, the `reserve`, for principals that come
 * while others have all of that. How many places of limit and reserve together must stay free after a `take`:
 *
 * | who asks | places that stay free |
 * |---|---|
 * | holds its share or more (all ÷ principals that hold something, at least two) | the reserve |
 * | holds less than its share | half of the reserve |
 * | holds nothing | none |
 *
 * So a second principal is served at once, and gets what comes back before the first does as long as that has more than its share; and many
 * more find a place each.
 */
export interface SharesOptions {
  /** Places for one principal that is alone. */
  readonly limit: number;
  /** Further places, for principals that have less than their share. An eighth of the limit, unless given. */
  readonly reserve?: number;
  /** What one principal may have even when it is alone. */
  readonly perPrincipal?: number;
}

/** Gives a place back. */
export type Release = () => void;

/** How large the reserve is, as a part of the limit. */
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

  /** Places that somebody has. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(principal: Principal): number {
    return this.#held.get(principal) ?? 0;
  }

  /** Whether `take` would give a place now. */
  hasPlaceFor(principal: Principal): boolean {
    const held = this.heldBy(principal);
    const free = this.#places - this.#taken;
    return held < this.#perPrincipal && free > this.#toLeave(held);
  }

  /** Undefined when it is refused. */
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

  /** How many places one that holds so many must leave to others. */
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
