import type { FollowedTurn } from "./followedTurn.js";

/** A call whose turn outlives its request: its client comes back for it, with answers. */
export class OpenCall {
  #attached = 0;
  #handedOut = false;
  #waiting: NodeJS.Timeout | undefined;

  constructor(
    readonly key: string,
    readonly followed: FollowedTurn,
    /** Nobody came back in time. */
    private readonly abandoned: () => void,
  ) {}

  /** A request follows the turn; `detach` is to be called when it does no longer. */
  attach(): void {
    clearTimeout(this.#waiting);
    this.#attached++;
  }

  detach(): void {
    this.#attached--;
  }

  /** The client has the questions, and may take its time until the first of them expires. Returns when that is. */
  handOut(): number {
    this.#handedOut = true;
    this.#awaitReturn();
    return this.followed.deadline;
  }

  /** A request was cancelled. True when nobody wants the turn any more: no other request follows it, and no client has its questions. */
  isUnwanted(): boolean {
    if (this.#attached > 0) return false;
    if (!this.#handedOut || this.followed.state.at !== "asking") return true;
    this.#awaitReturn();
    return false;
  }

  close(): void {
    clearTimeout(this.#waiting);
  }

  #awaitReturn(): void {
    clearTimeout(this.#waiting);
    if (this.#attached > 0) return;
    this.#waiting = setTimeout(this.abandoned, Math.max(this.followed.deadline - Date.now(), 0));
    this.#waiting.unref();
  }
}
