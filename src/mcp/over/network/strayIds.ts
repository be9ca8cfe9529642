import type { Principal } from "../../../agent/caller.js";

/** A client that repeats the handshake after "Session not found" does so at once. */
const INSISTS_AFTER_MS = 2_000;
const FORGOTTEN_AFTER_MS = 3_600_000;
const MAX_IDS = 1_000;

/**
 * Session ids that this server does not know, mostly from before a restart. Clients get "Session not found" and should repeat the
 * handshake. Some never do, and would stay broken until they are restarted. A client that still sends the same id after the delay is one of
 * those.
 */
export class StrayIds {
  /** The time of each first refusal, oldest first. */
  readonly #refused = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Records a request with an unknown session id. Returns true if the client keeps using the id after it was refused. */
  insists(id: string, principal: Principal): boolean {
    const key = JSON.stringify([principal, id]);
    const now = this.#now();
    const since = this.#refused.get(key);
    if (since !== undefined && now - since < FORGOTTEN_AFTER_MS) {
      if (now - since < INSISTS_AFTER_MS) return false;
      this.#refused.delete(key);
      return true;
    }
    this.#refused.delete(key);
    this.#refused.set(key, now);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_IDS && oldest !== undefined) this.#refused.delete(oldest);
    return false;
  }
}
