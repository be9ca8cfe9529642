/** The values of one label: the first few are kept apart, the rest counted together, so that no caller can fill the memory with names. */
export class BoundedLabel {
  readonly #values = new Set<string>();

  constructor(private readonly most: number) {}

  of(value: string): string {
    if (this.#values.has(value)) return value;
    if (this.#values.size >= this.most) return "other";
    this.#values.add(value);
    return value;
  }
}
