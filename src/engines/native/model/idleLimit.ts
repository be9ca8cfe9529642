import { monotonicMs } from "../../../lib/monotonicMs.js";

/** Aborts its signal when nobody touched it for a while, or when the outer signal aborts. */
export class IdleLimit {
  expired = false;
  readonly #limitMs: number;
  readonly #abort = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onOuterAbort = () => this.#abort.abort(this.#outer.reason);
  #timer: NodeJS.Timeout;
  #touchedAt = monotonicMs();

  constructor(limitMs: number, outer: AbortSignal) {
    this.#limitMs = limitMs;
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#look(), limitMs);
    if (outer.aborted) this.#onOuterAbort();
    outer.addEventListener("abort", this.#onOuterAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Called for every event of a stream, so it only takes the time; the timer finds out later how long it still has to wait. */
  touch(): void {
    this.#touchedAt = monotonicMs();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#onOuterAbort);
  }

  #look(): void {
    const leftMs = this.#touchedAt + this.#limitMs - monotonicMs();
    if (leftMs > 0) {
      this.#timer = setTimeout(() => this.#look(), Math.ceil(leftMs));
      return;
    }
    this.expired = true;
    this.#abort.abort(new Error("idle too long"));
  }
}
