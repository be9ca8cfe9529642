import { describe } from "./errors.js";

/** Background work with an owner: every task is awaited by `settle`, and a failure reaches `onFailure`, never the process. */
export class Tasks {
  readonly #running = new Map<Promise<void>, string>();

  constructor(private readonly onFailure: (name: string, error: unknown) => void) {}

  start(name: string, work: () => Promise<void>): void {
    const task: Promise<void> = work()
      .catch((error: unknown) => this.onFailure(name, error))
      .finally(() => this.#running.delete(task));
    this.#running.set(task, name);
  }

  get names(): string[] {
    return [...this.#running.values()];
  }

  /** Resolves when nothing runs any more, tasks started meanwhile included. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.keys());
  }
}

/** A failure handler for tasks whose work already reports its own errors: one that gets here is a defect, so it is shown. */
export function reportDefect(write: (line: string) => void): (name: string, error: unknown) => void {
  return (name, error) => write(`unexpected failure in ${name}: ${describe(error)}`);
}
