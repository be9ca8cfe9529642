/** Something that waits, and is told once when it has waited long enough. */
export abstract class SlowRequest {
  /** The look at which it is late. */
  lateAt = 0;

  abstract waitedLong(): void;
}

/** How often one looks for what has waited: it is told at most this much too late. */
const LOOK_EVERY_MS = 100;

/** One clock for all that wait: most are answered in the same turn of the event loop, and a timer each would cost more than the answers. */
export class SlowRequests {
  /** Those that came first are first. */
  readonly #waiting = new Set<SlowRequest>();
  readonly #looks: number;
  #look = 0;
  #clock: NodeJS.Timeout | undefined;

  constructor(patienceMs: number) {
    // The first look may follow at once.
    this.#looks = Math.ceil(patienceMs / LOOK_EVERY_MS) + 1;
  }

  begin(waiting: SlowRequest): void {
    waiting.lateAt = this.#look + this.#looks;
    this.#waiting.add(waiting);
    this.#clock ??= setInterval(() => this.#lookAround(), LOOK_EVERY_MS).unref();
  }

  end(waiting: SlowRequest): void {
    this.#waiting.delete(waiting);
  }

  #lookAround(): void {
    this.#look++;
    for (const request of this.#waiting) {
      if (request.lateAt > this.#look) break;
      this.#waiting.delete(request);
      request.waitedLong();
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }
}
