import { deferred } from "./deferred.js";

/** From callbacks to a loop: what was put in meanwhile comes out together. One reader; ends when closed and empty. */
export class Mailbox<T> {
  #held: T[] = [];
  #state: "open" | "closed" = "open";
  #arrival = deferred<void>();

  put(value: T): void {
    if (this.#state === "closed") return;
    this.#held.push(value);
    this.#arrival.resolve();
  }

  close(): void {
    this.#state = "closed";
    this.#arrival.resolve();
  }

  async *batches(): AsyncGenerator<readonly T[]> {
    for (;;) {
      if (this.#held.length > 0) {
        const batch = this.#held;
        this.#held = [];
        yield batch;
      } else if (this.#state === "closed") return;
      else {
        await this.#arrival.promise;
        this.#arrival = deferred<void>();
      }
    }
  }
}
