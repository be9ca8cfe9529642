import { type Deferred, deferred } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";

/** The limit of held events. A command shows at most 10,000 pieces of output, so the limit is reached only if no turn takes the events. */
const MOST_HELD = 20_000;
/** The limit of held output. Output beyond it is missing in the events, but the model can get it with `write_stdin`. */
const MOST_HELD_BYTES = 8 * 1024 * 1024;

/** Events of commands that continue to run after their call. A running turn shows them at once; if none runs, they wait for the next turn. */
export class LateEvents {
  #held: ThreadEvent[] = [];
  #heldBytes = 0;
  #arrival: Deferred<void> | undefined;

  put(event: ThreadEvent): void {
    const bytes = event.type === "commandOutput" ? event.bytes.length : 0;
    const isFull = this.#held.length >= MOST_HELD || this.#heldBytes + bytes > MOST_HELD_BYTES;
    if (isFull && event.type !== "commandEnded") return;
    this.#heldBytes += bytes;
    this.#held.push(event);
    this.wake();
  }

  take(): readonly ThreadEvent[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  /** Resolves when there is something to take, or `wake` is called. */
  async arrival(): Promise<void> {
    if (this.#held.length > 0) return;
    this.#arrival = deferred<void>();
    await this.#arrival.promise;
  }

  /** Ends the wait for an arrival. */
  wake(): void {
    this.#arrival?.resolve();
  }
}

/** The batches of `main` and those of `lateEvents`, in the order of their arrival. */
export async function* withLateEvents<End>(
  main: AsyncGenerator<readonly ThreadEvent[], End>,
  lateEvents: LateEvents,
): AsyncGenerator<readonly ThreadEvent[], End> {
  try {
    for (;;) {
      const next = main.next();
      let isSettled = false;
      const settle = () => {
        isSettled = true;
        lateEvents.wake();
      };
      next.then(settle, settle);
      while (!isSettled) {
        await lateEvents.arrival();
        const held = lateEvents.take();
        if (held.length > 0) yield held;
      }
      const { done, value } = await next;
      if (done) return value;
      yield value;
    }
  } finally {
    await main.return(undefined as never);
  }
}
