/** Lets tests wait until something that changes has reached a state. */
export class Changes {
  readonly #checks = new Set<() => void>();

  /** To be called after each change. */
  note(): void {
    for (const check of this.#checks) check();
  }

  /** Calls the function after each change. */
  follow(check: () => void): void {
    this.#checks.add(check);
  }

  /** The result of `look`, which is called now and after each change until it finds something. */
  until<T>(look: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const check = () => {
        const found = look();
        if (found === undefined) return;
        this.#checks.delete(check);
        resolve(found);
      };
      this.#checks.add(check);
      check();
    });
  }
}
