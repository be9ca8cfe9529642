/** Counts the deltas of an answer when they reach the client. A delta that a server sends in several kinds of event counts once. */
export class DeltaMeter {
  readonly #countByKind = new Map<string, number>();
  #firstAt = 0;
  #lastAt = 0;

  take(kind: unknown, delta: unknown): void {
    if (typeof kind !== "string" || typeof delta !== "string") return;
    this.#lastAt = performance.now();
    if (this.#countByKind.size === 0) this.#firstAt = this.#lastAt;
    this.#countByKind.set(kind, (this.#countByKind.get(kind) ?? 0) + 1);
  }

  reset(): void {
    this.#countByKind.clear();
  }

  get count(): number {
    return Math.max(0, ...this.#countByKind.values());
  }

  get perSecond(): number {
    return this.count / ((this.#lastAt - this.#firstAt) / 1000);
  }
}
