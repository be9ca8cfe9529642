import { type Deferred, deferred } from "../../lib/promises.js";

/** Wakes a waiting reader when any of its sources has a value. */
export class Wake {
  #next: Deferred<void> = deferred();

  call(): void {
    this.#next.resolve();
  }

  async wait(): Promise<void> {
    await this.#next.promise;
    this.#next = deferred();
  }
}

/**
 * A source that is read together with others: its next value is requested once, and kept until taken. Racing the sources would leave a
 * pending promise on the slow one for each event of the fast one.
 */
export class Pulled<T> implements AsyncDisposable {
  readonly #source: AsyncIterator<T>;
  readonly #wake: Wake;
  #ready: IteratorResult<T> | undefined;
  #error: { readonly error: unknown } | undefined;

  constructor(source: AsyncIterator<T>, wake: Wake) {
    this.#source = source;
    this.#wake = wake;
    this.#ask();
  }

  /** The next value; undefined while there is none. Throws the source's error. */
  take(): IteratorResult<T> | undefined {
    if (this.#error) throw this.#error.error;
    const ready = this.#ready;
    if (!ready) return undefined;
    this.#ready = undefined;
    if (ready.done !== true) this.#ask();
    return ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.();
  }

  #ask(): void {
    this.#source.next().then(
      (result) => {
        this.#ready = result;
        this.#wake.call();
      },
      (error: unknown) => {
        this.#error = { error };
        this.#wake.call();
      },
    );
  }
}
