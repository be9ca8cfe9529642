import { useSyncExternalStore } from "react";

/** A value that components read and others set. */
export class Signal<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    // A listener may unsubscribe during its call.
    for (const listener of Array.from(this.#listeners)) listener();
  }

  /** Bound, because React needs the same function each time. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly get = (): T => this.#value;
}

export function useSignal<T>(signal: Signal<T>): T {
  return useSyncExternalStore(signal.subscribe, signal.get);
}
