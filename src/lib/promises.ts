/** A promise to settle later; settling twice is harmless. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}

/** Background work with an owner: every task is awaited by `settle`, and a failure reaches `onFailure`, never the process. */
export class Tasks {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly onFailure: (name: string, error: unknown) => void) {}

  start(name: string, work: () => Promise<void>): void {
    const task: Promise<void> = work()
      .catch((error: unknown) => this.onFailure(name, error))
      .finally(() => this.#running.delete(task));
    this.#running.add(task);
  }

  /** Resolves when nothing runs any more, tasks started meanwhile included. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}

/** Something that is loaded when it is first needed, once. */
export interface Lazy<T> {
  readonly get: () => Promise<T>;
  /** Begins to load once what is being written now has left. */
  warmUp(): void;
  ifLoaded(): Promise<T | undefined>;
}

export function lazily<T>(load: () => Promise<T>): Lazy<T> {
  let loaded: Promise<T> | undefined;
  const get = () => {
    loaded ??= load().catch((error: unknown) => {
      // What failed now may work for the next call: a config.toml that was broken for a moment, say.
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
  return {
    get,
    warmUp() {
      // A failure to load is told to the call that needs it.
      const begin = () => void get().catch(() => undefined);
      // What was said in this turn of the event loop leaves at its end, perhaps after the first of the two.
      setImmediate(() => setImmediate(begin));
    },
    ifLoaded: async () => loaded?.catch(() => undefined),
  };
}

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
