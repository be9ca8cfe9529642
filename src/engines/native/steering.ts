/** More than that in one go is a conversation of its own. */
const MOST_WAITING = 16;

interface OpenTurn {
  readonly signal: AbortSignal;
  waiting: string[];
}

/** What the user says while a turn runs, until the model is told. */
export class Steering {
  #turn: OpenTurn | undefined;

  /** From now on the turn takes more to consider, until it closes or its signal aborts. */
  open(signal: AbortSignal): void {
    this.#turn = { signal, waiting: [] };
  }

  /** Whether the turn takes it. What is taken is told to the model before the turn completes. */
  offer(text: string): boolean {
    const turn = this.#turn;
    if (!turn || turn.signal.aborted || turn.waiting.length >= MOST_WAITING) return false;
    turn.waiting.push(text);
    return true;
  }

  /** Everything that waits, in the order in which it was said. */
  take(): readonly string[] {
    const waiting = this.#turn?.waiting ?? [];
    if (this.#turn) this.#turn.waiting = [];
    return waiting;
  }

  /** Takes nothing any more, unless something waits: then the turn has to go on with it. */
  closeIfNothingWaits(): boolean {
    if (this.#turn && this.#turn.waiting.length > 0) return false;
    this.close();
    return true;
  }

  close(): void {
    this.#turn = undefined;
  }
}
