import { surplusOf } from "../lib/shares.js";
import type { Principal } from "./caller.js";

/** A caller that waits for a turn. Clients with the same name and principal are assumed to have the same timeout. */
export interface Waiter {
  readonly principal: Principal | undefined;
  /** The client's name from its `clientInfo`. */
  readonly client: string | undefined;
}

export interface WaitingWishes {
  /** The wait that the call itself requests, in milliseconds. */
  readonly askedMs?: number | undefined;
  /** The client's known timeout in milliseconds, or `true` if it waits without limit. */
  readonly wall: true | number;
}

export interface PatienceOptions {
  /** The operator's setting in milliseconds; `Infinity` is unlimited. */
  readonly setMs?: number | undefined;
  readonly now?: () => number;
}

/** A client with a timeout of one minute gets its response ten seconds earlier. */
const SHARE_OF_WALL = 5 / 6;
/** Models ask for round numbers, which are often their client's timeout too: a response after exactly that time comes too late. */
const SHARE_OF_ASKED = 0.9;
const MOST_EARLY_MS = 1_000;
/** A learned timeout comes from one call, whose clock started before ours. */
const SHARE_OF_TIME_OUT = 0.8;
const LEAST_LEARNT_MS = 1_000;
/**
 * Client settings change, so a learned timeout expires. One call an hour that times out, and is recovered by the next, costs less than
 * polling twice as often for ever.
 */
const LEARNT_FOR_MS = 3_600_000;
const MOST_LEARNT = 1_000;

/**
 * How long calls wait for their turns before they return without a result. Depends on what the call requests, what is configured, and the
 * client's known timeout.
 */
export class Patience {
  readonly #options: PatienceOptions;
  readonly #learnt = new Map<string, { readonly ms: number; readonly until: number; readonly principal: Principal | undefined }>();

  constructor(options: PatienceOptions = {}) {
    this.#options = options;
  }

  /** In milliseconds; `Infinity` for as long as the turn takes. */
  of(waiter: Waiter, { askedMs, wall }: WaitingWishes): number {
    const { setMs } = this.#options;
    const unasked = setMs ?? (wall === true ? Number.POSITIVE_INFINITY : wall * SHARE_OF_WALL);
    // An operator who sets unlimited knows the clients. A model that asks for ten minutes does not know its client's timeout.
    if (askedMs === undefined && setMs === Number.POSITIVE_INFINITY) return unasked;
    const asked = askedMs === undefined ? unasked : Math.max(askedMs * SHARE_OF_ASKED, askedMs - MOST_EARLY_MS);
    return Math.min(asked, this.#learntOf(waiter));
  }

  /** Learns that the client gave up a call after this time, so that the next calls return earlier. */
  timedOut(waiter: Waiter, afterMs: number): void {
    const key = keyOf(waiter);
    const ms = Math.max(LEAST_LEARNT_MS, Math.min(afterMs * SHARE_OF_TIME_OUT, this.#learntOf(waiter)));
    this.#learnt.delete(key);
    this.#learnt.set(key, { ms, until: this.#now() + LEARNT_FOR_MS, principal: waiter.principal });
    if (this.#learnt.size <= MOST_LEARNT) return;
    for (const [surplus] of surplusOf(this.#learnt, MOST_LEARNT, { ownerOf: ([, { principal }]) => principal }))
      this.#learnt.delete(surplus);
  }

  #learntOf(waiter: Waiter): number {
    if (this.#learnt.size === 0) return Number.POSITIVE_INFINITY;
    const learnt = this.#learnt.get(keyOf(waiter));
    return learnt && this.#now() < learnt.until ? learnt.ms : Number.POSITIVE_INFINITY;
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }
}

/** Bounds the map's keys. Names that differ only beyond this length count as one client. */
const MAX_NAME_LENGTH = 100;

function keyOf({ principal = "" as Principal, client = "" }: Waiter): string {
  return JSON.stringify([principal, client.slice(0, MAX_NAME_LENGTH)]);
}
