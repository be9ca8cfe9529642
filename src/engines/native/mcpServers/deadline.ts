import { deferred } from "../../../lib/deferred.js";
import { McpTimedOut } from "./failures.js";

/** A time limit that can stand still for a while. Disposing it frees its timer. */
export class Deadline implements Disposable {
  readonly #passed = new AbortController();
  #remainingMs: number;
  #running: { readonly since: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(limitMs: number) {
    this.#remainingMs = limitMs;
    this.resume();
  }

  /** Aborts when the time is over. */
  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  pause(): void {
    if (!this.#running) return;
    clearTimeout(this.#running.timer);
    this.#remainingMs -= performance.now() - this.#running.since;
    this.#running = undefined;
  }

  resume(): void {
    if (this.#running) return;
    const timer = setTimeout(() => this.#passed.abort("timed out"), Math.max(0, this.#remainingMs));
    this.#running = { since: performance.now(), timer };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#running?.timer);
  }
}

interface Ends {
  readonly signal: AbortSignal;
  /** What is said when the time is over. */
  readonly late: string;
}

/** Work that ends when it is told to or when its time is over, whichever comes first. */
export async function withinLimit<T>(limit: Deadline, { signal, late }: Ends, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    signal.throwIfAborted();
    throw limit.signal.aborted ? new McpTimedOut(late) : error;
  }
}

/** What the promise gives, or the signal's reason if that comes first. The promise goes on. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = deferred<never>();
  const leave = () => aborted.reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
