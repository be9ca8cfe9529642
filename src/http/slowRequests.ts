import { Chain, type Link } from "../lib/chain.js";

/** Something that waits, and is told once when it has waited long enough. */
export abstract class SlowRequest implements Link<SlowRequest> {
  before: SlowRequest | undefined;
  after: SlowRequest | undefined;
  /** The look at which it is late. */
  lateAt = 0;

  abstract waitedLong(): void;
}

/** How often one looks for what has waited: it is told at most this much too late. */
const LOOK_EVERY_MS = 100;

/** One clock for all that wait: most are answered in the same turn of the event loop, and a timer each would cost more than the answers. */
export class SlowRequests {
  readonly #waiting = new Chain<SlowRequest>();
  readonly #looks: number;
  #look = 0;
  #clock: NodeJS.Timeout | undefined;

  constructor(patienceMs: number) {
    // The first look may follow at once.
    this.#looks = Math.ceil(patienceMs / LOOK_EVERY_MS) + 1;
  }

  begin(waiting: SlowRequest): void {
    waiting.lateAt = this.#look + this.#looks;
    this.#waiting.append(waiting);
    this.#clock ??= setInterval(() => this.#lookAround(), LOOK_EVERY_MS).unref();
  }

  end(waiting: SlowRequest): void {
    this.#waiting.remove(waiting);
  }

  #lookAround(): void {
    this.#look++;
    for (let first = this.#waiting.first; first && first.lateAt <= this.#look; first = this.#waiting.first) {
      this.#waiting.remove(first);
      first.waitedLong();
    }
    if (this.#waiting.first) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }
}
