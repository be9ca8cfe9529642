import type { Principal } from "./caller.js";

/** Whoever waits for a turn: clients of one name that one principal uses are taken to be alike. */
export interface Waiter {
  readonly principal: Principal | undefined;
  /** What its program calls itself. */
  readonly client: string | undefined;
}

export interface WaitingWishes {
  /** What the call itself asks for, in milliseconds. */
  readonly askedMs?: number | undefined;
  /** How long the client is known to wait: as long as it takes, or so many milliseconds. */
  readonly wall: true | number;
}

export interface PatienceOptions {
  /** What whoever runs the server has set, in milliseconds; `Infinity` is unlimited. */
  readonly setMs?: number | undefined;
  readonly now?: () => number;
}

/** A client that gives up after a minute gets its answer ten seconds before. */
const SHARE_OF_WALL = 5 / 6;
/** What was learnt of a client comes from one call, whose clock began before ours. */
const SHARE_OF_TIME_OUT = 0.8;
const LEAST_LEARNT_MS = 1_000;
/** Clients get other settings. One call an hour that is given up, and found again by the next, costs less than asking twice as often for ever. */
const LEARNT_FOR_MS = 3_600_000;
const MOST_LEARNT = 1_000;

/** How long calls wait for their turns before they end without them: by what they ask for, what is set, and what is known of their clients. */
export class Patience {
  readonly #options: PatienceOptions;
  readonly #learnt = new Map<string, { readonly ms: number; readonly until: number }>();

  constructor(options: PatienceOptions = {}) {
    this.#options = options;
  }

  /** In milliseconds; `Infinity` for as long as the turn takes. */
  of(waiter: Waiter, { askedMs, wall }: WaitingWishes): number {
    const { setMs } = this.#options;
    const unasked = setMs ?? (wall === true ? Number.POSITIVE_INFINITY : wall * SHARE_OF_WALL);
    // Whoever set it to unlimited knows their clients. A model that asks for ten minutes does not know when its client gives up.
    if (askedMs === undefined && setMs === Number.POSITIVE_INFINITY) return unasked;
    return Math.min(askedMs ?? unasked, this.#learntOf(waiter));
  }

  /** A call was given up by its client after this time: the next ones end earlier. */
  timedOut(waiter: Waiter, afterMs: number): void {
    const key = keyOf(waiter);
    const ms = Math.max(LEAST_LEARNT_MS, Math.min(afterMs * SHARE_OF_TIME_OUT, this.#learntOf(waiter)));
    this.#learnt.delete(key);
    this.#learnt.set(key, { ms, until: this.#now() + LEARNT_FOR_MS });
    const [oldest] = this.#learnt.keys();
    if (this.#learnt.size > MOST_LEARNT && oldest !== undefined) this.#learnt.delete(oldest);
  }

  #learntOf(waiter: Waiter): number {
    const learnt = this.#learnt.get(keyOf(waiter));
    return learnt && this.#now() < learnt.until ? learnt.ms : Number.POSITIVE_INFINITY;
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }
}

/** A name may be long; what tells clients apart comes early in it. */
const MAX_NAME_LENGTH = 100;

function keyOf({ principal = "" as Principal, client = "" }: Waiter): string {
  return JSON.stringify([principal, client.slice(0, MAX_NAME_LENGTH)]);
}
