import { isDeepStrictEqual } from "node:util";
import type { ApprovalId, ApprovalRequest } from "../approvals/model.js";
import type { ThreadId } from "../lib/ids.js";
import { LONGEST_TIMER_MS } from "../lib/promises.js";
import { surplusOf } from "../lib/shares.js";
import type { ThreadEvent, TurnEnd, TurnInput } from "../threads/events.js";
import type { ThreadSettings } from "../threads/settings.js";
import { isTurnEnd, type Turn, type TurnWatch } from "../threads/turn.js";
import type { Principal } from "./caller.js";

/** A request for a turn. Two equal wishes are the same request. */
export interface Wish {
  readonly input: TurnInput;
  /** The existing thread, or the settings of a new one. */
  readonly on: ThreadId | ThreadSettings;
}

/** One caller's attendance of a turn, from its arrival until it leaves. Only the first way of leaving counts. */
export interface Visit extends Disposable {
  /** The turn was started for an earlier caller with the same request, which was lost. */
  readonly findsLost: boolean;
  /** The caller received the turn's result, so the result need not be kept. */
  received(): void;
  /** The caller leaves and knows the thread id. The turn continues. */
  leave(): void;
  /** The caller left without learning the thread id. The turn continues and can be found by an equal request. */
  lose(): void;
  /** The caller will not come back. The turn is interrupted unless another caller attends it. */
  vanish(): void;
  /** Of the given questions, those that no earlier call has reported to its caller. */
  unreported(questions: readonly ApprovalId[]): readonly ApprovalId[];
  /** Notes that this call has reported the questions to its caller. */
  reported(questions: readonly ApprovalId[]): void;
}

export interface AttendanceOptions {
  /** How long an unattended turn may run. */
  readonly unattendedMs: number;
  readonly report: (line: string) => void;
}

/**
 * The number of ended turns kept for callers that come for the result, of all principals together. The thread keeps the answer for good; here it is kept with all its
 * details.
 */
const MOST_ENDED = 64;
/** A lost caller retries soon. The same request after this time starts a new turn, because the earlier answer may be outdated. */
const ASKS_AGAIN_WITHIN_MS = 15 * 60_000;

/**
 * Tracks which callers attend the turns of this process. A turn outlives the calls that wait for it. A turn that nobody attends, and that
 * has no open question, is interrupted after a while. An undelivered result is kept for the caller that comes for it.
 */
export class Attendance {
  readonly #options: AttendanceOptions;
  /** Oldest first. */
  readonly #turns = new Map<Turn, AttendedTurn>();

  constructor(options: AttendanceOptions) {
    this.#options = options;
  }

  /** Observes the turn that is started for a principal's wish. The caller that starts it is expected to visit it. */
  watch(wish: Wish, principal?: Principal): TurnWatch {
    return (turn) => {
      for (const earlier of this.on(turn.threadId)) earlier.newerBegan();
      const attended = new AttendedTurn(turn, { wish, principal }, this.#options);
      this.#turns.set(turn, attended);
      return (event) => {
        attended.take(event);
        if (isTurnEnd(event)) this.#ended(attended);
      };
    };
  }

  visit(turn: Turn): Visit {
    const attended = this.#turns.get(turn);
    // The turn has ended and another caller received its result.
    if (!attended) return NO_VISIT;
    return attended.visit(() => this.#turns.delete(turn));
  }

  /** Prevents the turn from counting as unattended until the returned value is disposed. Its result stays undelivered. */
  lookOn(turn: Turn): Disposable {
    return this.#turns.get(turn)?.lookOn() ?? NOBODY;
  }

  /** The running and queued turns of a thread, and those that ended with an undelivered result; oldest first. */
  on(threadId: ThreadId): readonly AttendedTurn[] {
    return [...this.#turns.values()].filter(({ turn }) => turn.threadId === threadId);
  }

  /**
   * The turns whose callers were lost before they learned the thread id, and that nobody has visited since. They run, or ended recently.
   */
  lost(): readonly AttendedTurn[] {
    return [...this.#turns.values()].filter(({ isLost, endedAt }) => isLost && Date.now() - (endedAt ?? Infinity) < ASKS_AGAIN_WITHIN_MS);
  }

  /** Stops the timers. */
  close(): void {
    for (const attended of this.#turns.values()) attended.close();
    this.#turns.clear();
  }

  #ended(attended: AttendedTurn): void {
    if (!attended.wasVisited) this.#turns.delete(attended.turn);
    const ended = [...this.#turns.values()].filter((each) => each.turn.ended || each === attended);
    if (ended.length <= MOST_ENDED) return;
    for (const { turn } of surplusOf(ended, MOST_ENDED, { ownerOf: ({ principal }) => principal })) this.#turns.delete(turn);
  }
}

/** A turn with its callers. */
export class AttendedTurn {
  readonly turn: Turn;
  /** Whose request started it; undefined for the server's own user. */
  readonly principal: Principal | undefined;
  /** Milliseconds since 1970. */
  readonly since = Date.now();
  readonly #wish: Wish;
  readonly #options: AttendanceOptions;
  readonly #questions = new Map<ApprovalId, ApprovalRequest>();
  readonly #reported = new Set<ApprovalId>();
  #visitors = 0;
  #onlookers = 0;
  #wasVisited = false;
  #isLost = false;
  #hasNewer = false;
  /** The last caller will not come back. */
  #vanished = false;
  #unattended: NodeJS.Timeout | undefined;
  #end: { readonly how: TurnEnd["type"]; readonly at: number } | undefined;

  constructor(
    turn: Turn,
    { wish, principal }: { readonly wish: Wish; readonly principal: Principal | undefined },
    options: AttendanceOptions,
  ) {
    this.turn = turn;
    this.principal = principal;
    this.#wish = wish;
    this.#options = options;
    this.#look();
  }

  /** The open questions of the turn. */
  get questions(): readonly ApprovalRequest[] {
    return [...this.#questions.values()];
  }

  /** Whether a caller attends the turn. */
  get isAttended(): boolean {
    return this.#visitors > 0;
  }

  get wasVisited(): boolean {
    return this.#wasVisited;
  }

  /** The caller is gone, and no caller since has learned the thread id. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Another turn was started on the same thread since then. */
  get hasNewer(): boolean {
    return this.#hasNewer;
  }

  /** Milliseconds since 1970; undefined while it runs or waits. */
  get endedAt(): number | undefined {
    return this.#end?.at;
  }

  get wasInterrupted(): boolean {
    return this.#end?.how === "turnAborted";
  }

  /** Whether the turn was started for an equal wish and has or will have an answer. An interrupted turn has none. */
  fulfils({ input, on }: Wish): boolean {
    return !this.wasInterrupted && !this.turn.signal.aborted && isDeepStrictEqual({ input, on }, this.#wish);
  }

  take(event: ThreadEvent): void {
    if (event.type === "approvalRequested") this.#questions.set(event.request.id, event.request);
    if (event.type === "approvalDecided") this.#questions.delete(event.id);
    if (isTurnEnd(event)) {
      this.#end = { how: event.type, at: Date.now() };
      this.#questions.clear();
      this.close();
    } else if (event.type === "approvalRequested" || event.type === "approvalDecided") this.#look();
  }

  visit(received: () => void): Visit {
    this.#visitors++;
    this.#wasVisited = true;
    this.#vanished = false;
    this.#look();
    let gone = false;
    const go = (then?: () => void) => {
      if (gone) return;
      gone = true;
      this.#visitors--;
      then?.();
      this.#look();
    };
    return {
      findsLost: this.#isLost,
      received: () => go(received),
      leave: () => go(() => this.known()),
      lose: () =>
        go(() => {
          this.#isLost ||= this.#visitors === 0;
        }),
      vanish: () =>
        go(() => {
          this.#vanished = true;
        }),
      unreported: (questions) => questions.filter((id) => !this.#reported.has(id)),
      reported: (questions) => {
        for (const id of questions) this.#reported.add(id);
      },
      [Symbol.dispose]: () => go(() => this.known()),
    };
  }

  lookOn(): Disposable {
    this.#onlookers++;
    this.#look();
    let gone = false;
    return {
      [Symbol.dispose]: () => {
        if (gone) return;
        gone = true;
        this.#onlookers--;
        this.#look();
      },
    };
  }

  /** A caller has learned the thread id. */
  known(): void {
    this.#isLost = false;
  }

  newerBegan(): void {
    this.#hasNewer = true;
  }

  close(): void {
    clearTimeout(this.#unattended);
    this.#unattended = undefined;
  }

  /** Interrupts the turn if its last caller vanished. Otherwise starts or stops the timer for unattended turns. */
  #look(): void {
    if (this.turn.ended || this.#visitors + this.#onlookers > 0 || this.#questions.size > 0) return this.close();
    if (this.#vanished) return this.#endUnattended("its client vanished in the middle of a call");
    if (this.#unattended) return;
    const { unattendedMs } = this.#options;
    const why = `it was unattended for ${Math.round(unattendedMs / 1_000)} s`;
    this.#unattended = setTimeout(() => this.#endUnattended(why), Math.min(unattendedMs, LONGEST_TIMER_MS));
    this.#unattended.unref();
  }

  #endUnattended(why: string): void {
    if (this.turn.ended) return;
    this.#options.report(`a turn of thread ${this.turn.threadId} was interrupted: ${why}`);
    this.turn.interrupt(why);
  }
}

const NOBODY: Disposable = { [Symbol.dispose]() {} };

const NO_VISIT: Visit = {
  findsLost: false,
  received() {},
  leave() {},
  lose() {},
  vanish() {},
  unreported: (questions) => questions,
  reported() {},
  [Symbol.dispose]() {},
};
