import { deferred } from "../lib/promises.js";
import { type Release, Shares } from "../lib/shares.js";
import type { Asker } from "./access.js";
import type { Caller, Principal, SessionId } from "./caller.js";
import { CallCancelled, ServerBusy } from "./errors.js";

export interface TurnLimiterLimits {
  /** Sessions that may have running turns at the same time. */
  readonly sessions: number;
  readonly perPrincipal: number;
  readonly perSession: number;
  /** Calls that may wait for a slot. */
  readonly queue: number;
}

interface Waiting {
  readonly caller: Caller;
  readonly admit: () => void;
}

/**
 * Limits the number of concurrent turns: per server, per principal and per session. Further calls wait in a queue per principal; the queues
 * are served round robin. A single principal may use the whole of each limit, and a second principal is still served at once. Several nodes
 * may share one limiter.
 */
export interface TurnLimiter {
  /** The number of waiting calls, as far as this node knows. */
  readonly waiting: number;
  /**
   * Takes a slot, to be disposed when the turn has ended; disposing twice is harmless. Throws `ServerBusy` if too many calls wait,
   * `CallCancelled` if the caller gives up. Stdio callers need no slot.
   */
  enter(asker: Asker): Promise<Disposable | undefined>;
}

/** The limiter of a single process. `Shares` divides each limit among the principals. */
export class MemoryTurnLimiter implements TurnLimiter {
  readonly #limits: TurnLimiterLimits;
  /** Slots for sessions with running turns. */
  readonly #sessions: Shares<Principal>;
  readonly #queued: Shares<Principal>;
  /** All callers of a principal without a session count as one session. */
  readonly #bySession = new Map<SessionId | Principal, { running: number; readonly leave: Release }>();
  readonly #byPrincipal = new Map<Principal, number>();
  /** In the order of service: the principal served most recently is last. */
  readonly #queues = new Map<Principal, Waiting[]>();

  constructor(limits: TurnLimiterLimits) {
    this.#limits = limits;
    this.#sessions = new Shares({ limit: limits.sessions });
    this.#queued = new Shares({ limit: limits.queue });
  }

  get waiting(): number {
    return this.#queued.taken;
  }

  async enter({ caller, signal }: Asker): Promise<Disposable | undefined> {
    if (!caller) return undefined;
    if (signal.aborted) throw new CallCancelled();
    if (!this.#occupy(caller)) await this.#wait(caller, signal);
    let left = false;
    return {
      [Symbol.dispose]: () => {
        if (left) return;
        left = true;
        this.#leave(caller);
      },
    };
  }

  /** A caller that gives up leaves the queue at once, so that a slot released at the same moment goes to the next caller. */
  async #wait(caller: Caller, signal: AbortSignal): Promise<void> {
    const leaveQueue = this.#queued.take(caller.principal);
    if (!leaveQueue) throw new ServerBusy(`Too many turns are running and ${this.waiting} calls wait already; try again in a few seconds`);
    const admitted = deferred<void>();
    const waiting: Waiting = {
      caller,
      admit: () => {
        signal.removeEventListener("abort", giveUp);
        leaveQueue();
        admitted.resolve();
      },
    };
    const giveUp = () => {
      leaveQueue();
      this.#dequeue(waiting);
      admitted.reject(new CallCancelled());
    };
    signal.addEventListener("abort", giveUp, { once: true });
    const queue = this.#queues.get(caller.principal) ?? [];
    this.#queues.set(caller.principal, [...queue, waiting]);
    await admitted.promise;
  }

  #dequeue(waiting: Waiting): void {
    const { principal } = waiting.caller;
    const left = (this.#queues.get(principal) ?? []).filter((other) => other !== waiting);
    if (left.length > 0) this.#queues.set(principal, left);
    else this.#queues.delete(principal);
  }

  /** Returns false if no slot is free. */
  #occupy({ sessionId, principal }: Caller): boolean {
    const key = sessionId ?? principal;
    const session = this.#bySession.get(key);
    const ofPrincipal = this.#byPrincipal.get(principal) ?? 0;
    if (ofPrincipal >= this.#limits.perPrincipal) return false;
    if (session && sessionId !== undefined && session.running >= this.#limits.perSession) return false;
    const leave = session?.leave ?? this.#sessions.take(principal);
    if (!leave) return false;
    this.#bySession.set(key, { running: (session?.running ?? 0) + 1, leave });
    this.#byPrincipal.set(principal, ofPrincipal + 1);
    return true;
  }

  #leave({ sessionId, principal }: Caller): void {
    const key = sessionId ?? principal;
    const session = this.#bySession.get(key);
    if (session && session.running > 1) this.#bySession.set(key, { ...session, running: session.running - 1 });
    else this.#bySession.delete(key);
    if (session?.running === 1) session.leave();
    const left = (this.#byPrincipal.get(principal) ?? 1) - 1;
    if (left > 0) this.#byPrincipal.set(principal, left);
    else this.#byPrincipal.delete(principal);
    while (this.#admitNext());
  }

  /** Admits the longest waiting call of the next principal that can get a slot. */
  #admitNext(): boolean {
    for (const [principal, queue] of this.#queues) {
      const next = queue.find(({ caller }) => this.#occupy(caller));
      if (!next) continue;
      this.#dequeue(next);
      // Moved to the end, so that the other principals are served first.
      const left = this.#queues.get(principal);
      this.#queues.delete(principal);
      if (left) this.#queues.set(principal, left);
      next.admit();
      return true;
    }
    return false;
  }
}
