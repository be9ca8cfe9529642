// Helpers for waiting: deferred promises, timeouts, values created once.
/** A promise with its resolvers; settling twice is harmless. */
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

  readonly #onFailure: (name: string, error: unknown) => void;

  constructor(onFailure: (name: string, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  start(name: string, work: () => Promise<void>): void {
    const task: Promise<void> = work()
      .catch((error: unknown) => this.#onFailure(name, error))
      .finally(() => this.#running.delete(task));
    this.#running.add(task);
  }

  /** Resolves when no task runs any more, including tasks started meanwhile. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}

/** A value that is loaded once, when it is first needed. */
export interface Lazy<T> {
  readonly get: () => Promise<T>;
  /** Starts loading after pending output has been written. */
  warmUp(): void;
  ifLoaded(): Promise<T | undefined>;
}

export function lazily<T>(load: () => Promise<T>): Lazy<T> {
  let loaded: Promise<T> | undefined;
  const get = () => {
    loaded ??= load().catch((error: unknown) => {
      // A load that failed now may succeed for the next call, for example after config.toml was broken for a moment.
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
  return {
    get,
    warmUp() {
      // A failure to load is reported to the call that needs the value.
      const begin = () => void get().catch(() => undefined);
      // Output of this turn of the event loop is written at its end, which may come after the first setImmediate.
      setImmediate(() => setImmediate(begin));
    },
    ifLoaded: async () => loaded?.catch(() => undefined),
  };
}

/** Turns callbacks into a loop: everything put in meanwhile comes out as one batch. Supports one reader; ends when closed and empty. */
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

/** Node fires longer timers immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How a wait ended. */
export type Waited<T> = { readonly at: "ended"; readonly value: T } | { readonly at: "late" } | { readonly at: "aborted" };

export interface WaitLimits {
  readonly ms?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Waits for the promise, the timeout or the signal. Does not cancel the promise; rejects if the promise rejects first. */
export async function waitFor<T>(promise: Promise<T>, { ms, signal }: WaitLimits): Promise<Waited<T>> {
  const given = deferred<Waited<T>>();
  const abort = () => given.resolve({ at: "aborted" });
  const timer = ms === undefined ? undefined : setTimeout(() => given.resolve({ at: "late" }), Math.min(ms, LONGEST_TIMER_MS));
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([given.promise, promise.then((value): Waited<T> => ({ at: "ended", value }))]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** The promise's value, or `otherwise` after the timeout. */
export async function valueWithin<T, U>(ms: number, promise: Promise<T>, otherwise: U): Promise<T | U> {
  const waited = await waitFor(promise, { ms });
  return waited.at === "ended" ? waited.value : otherwise;
}

/** True when the work ended in time. */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return (await waitFor(work, { ms })).at === "ended";
}

/** The promise's value, or a rejection with the signal's reason if that comes first. Does not cancel the promise. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const waited = await waitFor(promise, { signal });
  if (waited.at === "ended") return waited.value;
  throw signal.reason;
}

/**
 * As `AbortSignal.timeout`, but held by its timer, which does not keep the process alive. `AbortSignal.any` holds its sources only weakly:
 * Node 20 may collect an `AbortSignal.timeout`, and the combined signal then never aborts.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const passed = new AbortController();
  const isOver = () => passed.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  setTimeout(isOver, Math.min(ms, LONGEST_TIMER_MS)).unref();
  return passed.signal;
}

/** A time limit that can be paused. Disposing of it frees its timer. */
export class Deadline implements Disposable {
  readonly #passed = new AbortController();
  readonly #reason: () => Error;
  #remainingMs: number;
  #running: { readonly since: number; readonly timer: NodeJS.Timeout } | undefined;

  /** `reason` creates the error for the expired limit. */
  constructor(limitMs: number, reason: () => Error) {
    this.#remainingMs = limitMs;
    this.#reason = reason;
    this.resume();
  }

  /** Aborts when the time limit expires, with that error as its reason. */
  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  pause(): void {
    if (!this.#running) return;
    clearTimeout(this.#running.timer);
    this.#remainingMs -= monotonicMs() - this.#running.since;
    this.#running = undefined;
  }

  resume(): void {
    if (this.#running) return;
    const timer = setTimeout(() => this.#passed.abort(this.#reason()), Math.min(Math.max(0, this.#remainingMs), LONGEST_TIMER_MS));
    this.#running = { since: monotonicMs(), timer };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#running?.timer);
  }
}

export interface WorkLimits {
  readonly deadline: Deadline;
  readonly signal?: AbortSignal | undefined;
  /** How long the work may take to stop after its signal aborted; unlimited if absent. */
  readonly stopMs?: number | undefined;
}

/**
 * Runs work that is stopped by the signal or by the deadline, whichever comes first. The failure has the reason of the one that stopped it.
 */
export async function withDeadline<T>({ deadline, signal, stopMs }: WorkLimits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ends = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
  const givenUp = deferred<never>();
  let stopping: NodeJS.Timeout | undefined;
  const stop = () => {
    stopping = setTimeout(() => givenUp.reject(ends.reason), stopMs);
  };
  if (stopMs !== undefined && ends.aborted) stop();
  else if (stopMs !== undefined) ends.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work(ends), givenUp.promise]);
  } catch (error) {
    throw ends.aborted ? ends.reason : error;
  } finally {
    clearTimeout(stopping);
    ends.removeEventListener("abort", stop);
  }
}

/** Aborts its signal after a period without `touch`, or when the outer signal aborts. */
export class IdleDeadline implements Disposable {
  readonly #limitMs: number;
  readonly #abort = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onOuterAbort = () => this.#abort.abort(this.#outer.reason);
  #timer: NodeJS.Timeout;
  #touchedAt = monotonicMs();
  #hasPassed = false;

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

  /** Whether the idle limit caused the abort. */
  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  /** Called for every event of a stream, so it only stores the time; the timer later computes how long it still has to wait. */
  touch(): void {
    this.#touchedAt = monotonicMs();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#onOuterAbort);
  }

  #look(): void {
    const leftMs = this.#touchedAt + this.#limitMs - monotonicMs();
    if (leftMs > 0) {
      this.#timer = setTimeout(() => this.#look(), Math.ceil(leftMs));
      return;
    }
    this.#hasPassed = true;
    this.#abort.abort(new Error("idle too long"));
  }
}

/** Milliseconds of a monotonic clock. Unlike `performance.now()`, it loads no module before the first response. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}
