/** What can be a member of a chain, of one at a time. Only the chain writes these. */
export interface Link<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Members in the order in which they came. For what comes and goes with every request: a `Set` would have to hash each of them
 * and to be rebuilt again and again.
 */
export class Chain<T extends Link<T>> implements Iterable<T> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  append(member: T): void {
    member.before = this.#last;
    member.after = undefined;
    if (this.#last) this.#last.after = member;
    else this.#first = member;
    this.#last = member;
  }

  /** Harmless for one that is not in the chain any more. */
  remove(member: T): void {
    const { before, after } = member;
    if (!before && this.#first !== member) return;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    member.before = member.after = undefined;
  }

  /** Those that are there now. */
  *[Symbol.iterator](): Iterator<T> {
    const members: T[] = [];
    for (let member = this.#first; member; member = member.after) members.push(member);
    yield* members;
  }
}
