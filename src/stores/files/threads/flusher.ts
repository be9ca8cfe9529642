import { setImmediate } from "node:timers/promises";
import { Tasks } from "../../../lib/tasks.js";
import type { RolloutFile } from "./rolloutFile.js";

/** Half of Node's file threads at most, so that a slow disk does not hold up name look-ups and reads. */
const FLUSHES_AT_ONCE = 2;

/** Brings finished files to the disk, off everybody's path. Holds at most one waiting file per thread. */
export class Flusher {
  readonly #waiting = new Map<string, RolloutFile>();
  readonly #tasks: Tasks;
  #running = 0;

  constructor(onFailure: (name: string, error: unknown) => void) {
    this.#tasks = new Tasks(onFailure);
  }

  flushAndClose(file: RolloutFile): void {
    // The newer opening's flush covers what was written through the older one.
    this.#waiting.get(file.path)?.closeUnflushed();
    this.#waiting.set(file.path, file);
    this.#startNext();
  }

  /** Resolves when everything handed over is on the disk. */
  settle(): Promise<void> {
    return this.#tasks.settle();
  }

  #startNext(): void {
    if (this.#running >= FLUSHES_AT_ONCE) return;
    const [next] = this.#waiting.values();
    if (!next) return;
    this.#waiting.delete(next.path);
    this.#running++;
    this.#tasks.start(`flushing ${next.path}`, () => this.#flush(next));
  }

  async #flush(file: RolloutFile): Promise<void> {
    try {
      // The answer that is being written now leaves first.
      await setImmediate();
      await file.flushAndClose();
    } finally {
      this.#running--;
      this.#startNext();
    }
  }
}
