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
