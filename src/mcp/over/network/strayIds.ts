import type { Principal } from "../../../agent/caller.js";

/** A client that shakes hands again when its session is not found does so at once. */
const INSISTS_AFTER_MS = 2_000;
const FORGOTTEN_AFTER_MS = 3_600_000;
const MAX_IDS = 1_000;

/**
 * Ids of sessions that this server does not know, mostly of one before it. A client is told so and shakes hands again; some never do, and would stay broken
 * until somebody starts them again: who goes on with such an id although it was told is one of those.
 */
export class StrayIds {
  /** When each was refused first; the oldest first. */
  readonly #refused = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** A request names an id that is not known. True when its client insists on it. */
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
