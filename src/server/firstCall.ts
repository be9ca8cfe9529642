/** How long after its answer nobody may be expected to ask the next thing at once. */
const QUIET_MS = 250;

/** Does something once, when the first call has been served and a moment has passed; or at the end, if that comes before. */
export class FirstCall {
  #state: "awaited" | "begun" | "done" = "awaited";
  readonly #afterwards: () => void;

  constructor(afterwards: () => void) {
    this.#afterwards = afterwards;
  }

  begin(answered: () => Promise<void>): void {
    if (this.#state !== "awaited") return;
    this.#state = "begun";
    void answered().then(() => setTimeout(() => this.end(), QUIET_MS).unref());
  }

  end(): void {
    if (this.#state !== "begun") return;
    this.#state = "done";
    this.#afterwards();
  }
}
