import { isDeepStrictEqual } from "node:util";
import type { ApprovalId, ApprovalRequest } from "../approvals/model.js";
import type { ThreadId } from "../lib/ids.js";
import { LONGEST_TIMER_MS } from "../lib/promises.js";
import type { ThreadEvent, TurnEnd, TurnInput } from "../threads/events.js";
import type { ThreadSettings } from "../threads/settings.js";
import { isTurnEnd, type Turn, type TurnWatch } from "../threads/turn.js";

/** What somebody asked for: the same again is the same wish. */
export interface Wish {
  readonly input: TurnInput;
  /** The thread it goes on with, or the settings of a new one. */
  readonly on: ThreadId | ThreadSettings;
}

/** Somebody's part in a turn, from when they come until they go. The first way to go counts. */
export interface Visit extends Disposable {
  /** They asked for what a caller had asked for who was lost: the turn was begun before they came. */
  readonly findsLost: boolean;
  /** They were told how the turn ended: nobody has to come for that any more. */
  told(): void;
  /** They go, and know which thread it is. The turn goes on. */
  leave(): void;
  /** They are gone without having been told which thread it is. The turn goes on, and can be found by what they asked for. */
  lose(): void;
  /** They will not come back: unless somebody else is there, the turn ends. */
  vanish(): void;
  /** Those of the questions that no call which left has told anybody of. */
  untold(questions: readonly ApprovalId[]): readonly ApprovalId[];
  toldOf(questions: readonly ApprovalId[]): void;
}

export interface AttendanceOptions {
  /** How long a turn goes on that nobody attends. */
  readonly unattendedMs: number;
  readonly report: (line: string) => void;
}

/** Turns that ended while nobody was there, for whoever comes for the answer: it is on the thread for good, and here with all that belongs to it. */
const MOST_ENDED = 64;
/** Whoever was lost asks again soon. The same words later are a wish of their own: the answer from before tells nothing of what is now. */
const ASKS_AGAIN_WITHIN_MS = 15 * 60_000;

/**
 * Who is there for the turns of this process. A turn outlives the calls that wait for it; one that nobody attends and that waits for no answer ends
 * after a while. An end that nobody was told is kept for whoever comes for it.
 */
export class Attendance {
  readonly #options: AttendanceOptions;
  /** The oldest first. */
  readonly #turns = new Map<Turn, AttendedTurn>();

  constructor(options: AttendanceOptions) {
    this.#options = options;
  }

  /** Follows the turn that is begun for a wish. Whoever begins it is expected to visit it. */
  watch(wish: Wish): TurnWatch {
    return (turn) => {
      const attended = new AttendedTurn(turn, wish, this.#options);
      this.#turns.set(turn, attended);
      return (event) => {
        attended.take(event);
        if (isTurnEnd(event)) this.#ended(attended);
      };
    };
  }

  visit(turn: Turn): Visit {
    const attended = this.#turns.get(turn);
    // It was told to somebody else already; it has ended.
    if (!attended) return NO_VISIT;
    return attended.visit(() => this.#turns.delete(turn));
  }

  /** Somebody looks on until the end of the returned value: the turn is not unattended meanwhile, and whoever waits for its answer still does. */
  lookOn(turn: Turn): Disposable {
    return this.#turns.get(turn)?.lookOn() ?? NOBODY;
  }

  /** The turns of a thread that run, wait, or have ended without anybody being told; oldest first. */
  on(threadId: ThreadId): readonly AttendedTurn[] {
    return [...this.#turns.values()].filter(({ turn }) => turn.threadId === threadId);
  }

  /** The turns whose callers were lost before they knew the thread, and for which nobody came since: those that run, or ended a while ago. */
  lost(): readonly AttendedTurn[] {
    return [...this.#turns.values()].filter(({ isLost, endedAt }) => isLost && Date.now() - (endedAt ?? Infinity) < ASKS_AGAIN_WITHIN_MS);
  }

  /** Nobody waits for the end of a timer. */
  close(): void {
    for (const attended of this.#turns.values()) attended.close();
    this.#turns.clear();
  }

  #ended(attended: AttendedTurn): void {
    if (!attended.wasVisited) this.#turns.delete(attended.turn);
    const ended = [...this.#turns.keys()].filter((turn) => turn.ended || turn === attended.turn);
    for (const turn of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) this.#turns.delete(turn);
  }
}

/** A turn as those know it who come and go. */
export class AttendedTurn {
  readonly turn: Turn;
  /** Milliseconds since 1970. */
  readonly since = Date.now();
  readonly #wish: Wish;
  readonly #options: AttendanceOptions;
  readonly #questions = new Map<ApprovalId, ApprovalRequest>();
  readonly #toldOf = new Set<ApprovalId>();
  #visitors = 0;
  #onlookers = 0;
  #wasVisited = false;
  #isLost = false;
  /** Whoever was there last will not come back. */
  #vanished = false;
  #unattended: NodeJS.Timeout | undefined;
  #end: { readonly how: TurnEnd["type"]; readonly at: number } | undefined;

  constructor(turn: Turn, wish: Wish, options: AttendanceOptions) {
    this.turn = turn;
    this.#wish = wish;
    this.#options = options;
    this.#look();
  }

  /** What it waits for. */
  get questions(): readonly ApprovalRequest[] {
    return [...this.#questions.values()];
  }

  /** Somebody follows it. */
  get isAttended(): boolean {
    return this.#visitors > 0;
  }

  get wasVisited(): boolean {
    return this.#wasVisited;
  }

  /** Its caller is gone, and nobody who came since could be told which thread it is. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Milliseconds since 1970; undefined while it runs or waits. */
  get endedAt(): number | undefined {
    return this.#end?.at;
  }

  get wasInterrupted(): boolean {
    return this.#end?.how === "turnAborted";
  }

  /** The wish is the one it was begun for, and it is or will be answered: of one that was interrupted nothing comes any more. */
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

  visit(told: () => void): Visit {
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
      told: () => go(told),
      leave: () => go(() => this.known()),
      lose: () =>
        go(() => {
          this.#isLost ||= this.#visitors === 0;
        }),
      vanish: () =>
        go(() => {
          this.#vanished = true;
        }),
      untold: (questions) => questions.filter((id) => !this.#toldOf.has(id)),
      toldOf: (questions) => {
        for (const id of questions) this.#toldOf.add(id);
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

  /** Somebody has the thread's id. */
  known(): void {
    this.#isLost = false;
  }

  close(): void {
    clearTimeout(this.#unattended);
    this.#unattended = undefined;
  }

  /** Whether anybody is there, or asked. */
  #look(): void {
    if (this.turn.ended || this.#visitors + this.#onlookers > 0 || this.#questions.size > 0) return this.close();
    if (this.#vanished) return this.#endUnattended("its client vanished in the middle of a call");
    if (this.#unattended) return;
    const { unattendedMs } = this.#options;
    const why = `nobody attended to it for ${Math.round(unattendedMs / 1_000)} s`;
    this.#unattended = setTimeout(() => this.#endUnattended(why), Math.min(unattendedMs, LONGEST_TIMER_MS));
    this.#unattended.unref();
  }

  #endUnattended(why: string): void {
    if (this.turn.ended) return;
    this.#options.report(`a turn of thread ${this.turn.threadId} was interrupted: ${why}`);
    this.turn.interrupt();
  }
}

const NOBODY: Disposable = { [Symbol.dispose]() {} };

const NO_VISIT: Visit = {
  findsLost: false,
  told() {},
  leave() {},
  lose() {},
  vanish() {},
  untold: (questions) => questions,
  toldOf() {},
  [Symbol.dispose]() {},
};
