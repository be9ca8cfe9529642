/**
 * What one turn of the event loop may spend on sending. A request that arrives waits for the rest of a share, and for the work that
 * others are woken up to: shares of 2 ms made the slowest hundredth of them wait three times as long, and sent a fifth more.
 */
const SHARE_MS = 0.1;

/** Lets the senders of a process take turns, so that none of them, nor all of them together, keep the event loop for long. */
export class FairScheduler {
  readonly #shareMs: number;
  /** Each sender is in here at most once. */
  readonly #waiting = new Set<() => void>();
  #state: "idle" | "working" = "idle";

  constructor(shareMs = SHARE_MS) {
    this.#shareMs = shareMs;
  }

  /** Somebody waits for a turn, or has it. */
  get isBusy(): boolean {
    return this.#state === "working";
  }

  /** Runs the work in one of the next turns of the event loop. Asking again before that changes nothing. */
  soon(work: () => void): void {
    this.#waiting.add(work);
    if (this.#state === "working") return;
    this.#state = "working";
    setImmediate(() => this.#share());
  }

  #share(): void {
    const until = performance.now() + this.#shareMs;
    const takeTurn = () => {
      const [next] = this.#waiting;
      if (!next) {
        this.#state = "idle";
        return;
      }
      this.#waiting.delete(next);
      try {
        next();
      } finally {
        // After whoever waited for this work: what they go on to do counts as part of it.
        queueMicrotask(() => (performance.now() < until ? takeTurn() : setImmediate(() => this.#share())));
      }
    };
    takeTurn();
  }
}

/** For all sessions: there is one event loop. */
export const sendScheduler: FairScheduler = new FairScheduler();
