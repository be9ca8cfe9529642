import type { Visit } from "../../agent/attendance.js";
import { CallerTimedOut, CallerVanished } from "../../agent/errors.js";
import type { ApprovalId } from "../../approvals/model.js";
import { LONGEST_TIMER_MS } from "../../lib/promises.js";
import type { Turn } from "../../threads/turn.js";

/** How a call may leave a running turn. */
export interface StayRules {
  readonly visit: Visit;
  /** How long the call waits; `Infinity` for as long as the turn takes. */
  readonly patienceMs: number;
  /** Called when the client gave up before that. */
  readonly timedOut: () => void;
}

/** Questions asked within this time are reported together. A question decided within this time is not reported. */
const GATHER_MS = 20;

/**
 * One call's attendance of a turn. It ends with the turn, or earlier: when its waiting time is over, when a question is open that only
 * others can answer, or when its client stops waiting. A client that cancels its call interrupts the turn, and so does a client without
 * rules for leaving.
 */
export class Stay implements Disposable {
  readonly #turn: Turn;
  readonly #rules: StayRules | undefined;
  readonly #signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #onAbort = () => this.#aborted();
  readonly #patience: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;

  /** Without rules the call lasts as long as the turn. */
  constructor(turn: Turn, rules: StayRules | undefined, signal: AbortSignal) {
    this.#turn = turn;
    this.#rules = rules;
    this.#signal = signal;
    if (rules && rules.patienceMs !== Number.POSITIVE_INFINITY)
      this.#patience = setTimeout(() => this.#end(), Math.min(rules.patienceMs, LONGEST_TIMER_MS));
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#aborted();
  }

  /** Aborts when the call must return while the turn still runs. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Reports the open questions that this call does not ask its client. */
  held(questions: readonly ApprovalId[]): void {
    clearTimeout(this.#gathering);
    // A call that returns to questions already reported keeps waiting. If it returned at once each time, the model would repeat it without
    // end.
    if (!this.#rules || this.#rules.visit.unreported(questions).length === 0) return;
    this.#gathering = setTimeout(() => {
      this.#rules?.visit.reported(questions);
      this.#end();
    }, GATHER_MS);
  }

  /** The client receives the turn's result. */
  received(): void {
    this.#rules?.visit.received();
  }

  /** Unless another way was recorded, the caller leaves and knows the thread id. */
  [Symbol.dispose](): void {
    clearTimeout(this.#patience);
    clearTimeout(this.#gathering);
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#rules?.visit.leave();
  }

  #aborted(): void {
    const { reason } = this.#signal;
    if (this.#rules && reason instanceof CallerTimedOut) {
      if (!this.#over.signal.aborted) this.#rules.timedOut();
      this.#rules.visit.lose();
      return this.#end();
    }
    if (this.#rules && reason instanceof CallerVanished) {
      this.#rules.visit.vanish();
      return this.#end();
    }
    this.#turn.interrupt(reason instanceof Error ? reason.message : undefined);
  }

  #end(): void {
    this.#over.abort();
  }
}
