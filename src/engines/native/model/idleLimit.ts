/** Aborts its signal when nobody touched it for a while, or when the outer signal aborts. */
export class IdleLimit {
  expired = false;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal;
  readonly #onOuterAbort = () => this.#abort.abort(this.#outer.reason);

  constructor(limitMs: number, outer: AbortSignal) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#abort.abort(new Error("idle too long"));
    }, limitMs);
    if (outer.aborted) this.#onOuterAbort();
    outer.addEventListener("abort", this.#onOuterAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  touch(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#onOuterAbort);
  }
}
