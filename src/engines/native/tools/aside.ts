import { deferred } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";

/** Further events are dropped. A command shows at most 10,000 pieces of output, so this many events wait only if no turn takes them. */
const MOST_HELD = 20_000;
/** Of output. The model has the output from `write_stdin`; only the events lack what is beyond. */
const MOST_HELD_BYTES = 8 * 1024 * 1024;

/** Events of commands that continue to run after their call. A running turn shows them at once; if none runs, they wait for the next turn. */
export class Aside {
  #held: ThreadEvent[] = [];
  #heldBytes = 0;
  #wake: (() => void) | undefined;

  put(event: ThreadEvent): void {
    const bytes = event.type === "commandOutput" ? event.bytes.length : 0;
    const isFull = this.#held.length >= MOST_HELD || this.#heldBytes + bytes > MOST_HELD_BYTES;
    if (isFull && event.type !== "commandEnded") return;
    this.#heldBytes += bytes;
    this.#held.push(event);
    this.#wake?.();
  }

  take(): readonly ThreadEvent[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  /** Waits until there is something to take, or `other` has settled. */
  async arrivalOr(other: Promise<unknown>): Promise<void> {
    if (this.#held.length > 0) return;
    const woken = deferred<void>();
    const wake = () => woken.resolve();
    this.#wake = wake;
    other.then(wake, wake);
    await woken.promise;
    this.#wake = undefined;
  }
}

/** The batches of `main` and those of `aside`, in the order of their arrival. */
export async function* withAside<End>(
  main: AsyncGenerator<readonly ThreadEvent[], End>,
  aside: Aside,
): AsyncGenerator<readonly ThreadEvent[], End> {
  try {
    for (;;) {
      const next = main.next();
      let isSettled = false;
      const settle = () => {
        isSettled = true;
      };
      next.then(settle, settle);
      while (!isSettled) {
        await aside.arrivalOr(next);
        const held = aside.take();
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
