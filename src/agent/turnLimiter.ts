import { RPC, RpcError } from "../jsonrpc/errors.js";
import type { Caller, Principal, SessionId } from "./caller.js";

export interface TurnLimits {
  /** Sessions that may have turns running at once. */
  readonly sessions: number;
  readonly perPrincipal: number;
  readonly perSession: number;
  /** Calls that may wait for a place. */
  readonly queue: number;
}

/** What gives a place back. */
export type Place = (() => void) | "not wanted any more";

interface Waiting {
  readonly caller: Caller;
  readonly admit: () => void;
}

/** Lets so many turns run at once: for the whole server, for a principal, for a session. Others wait in order; past that they are refused. */
export class TurnGate {
  /** Callers without a session count as one of their principal's. */
  readonly #bySession = new Map<SessionId | Principal, number>();
  readonly #byPrincipal = new Map<Principal, number>();
  readonly #queue: Waiting[] = [];

  constructor(private readonly limits: TurnLimits) {}

  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves with what gives the place back. Throws `RPC.busy` when too many wait. */
  async enter(caller: Caller, signal: AbortSignal): Promise<Place> {
    if (signal.aborted) return "not wanted any more";
    if (this.#hasPlaceFor(caller)) this.#occupy(caller);
    else if (!(await this.#wait(caller, signal))) return "not wanted any more";
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave(caller);
    };
  }

  /** False when the signal came first. */
  #wait(caller: Caller, signal: AbortSignal): Promise<boolean> {
    if (this.#queue.length >= this.limits.queue)
      throw new RpcError(RPC.busy, `Too many turns are running and ${this.limits.queue} calls wait already; try again in a few seconds`);
    return new Promise((resolve) => {
      const giveUp = () => {
        const at = this.#queue.indexOf(waiting);
        if (at >= 0) this.#queue.splice(at, 1);
        resolve(false);
      };
      const waiting: Waiting = {
        caller,
        admit: () => {
          signal.removeEventListener("abort", giveUp);
          this.#occupy(caller);
          resolve(true);
        },
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#queue.push(waiting);
    });
  }

  #hasPlaceFor({ sessionId, principal }: Caller): boolean {
    const ofSession = this.#bySession.get(sessionId ?? principal) ?? 0;
    if (ofSession === 0 && this.#bySession.size >= this.limits.sessions) return false;
    return (
      (sessionId === undefined || ofSession < this.limits.perSession) && (this.#byPrincipal.get(principal) ?? 0) < this.limits.perPrincipal
    );
  }

  #occupy({ sessionId, principal }: Caller): void {
    count(this.#bySession, sessionId ?? principal, 1);
    count(this.#byPrincipal, principal, 1);
  }

  #leave({ sessionId, principal }: Caller): void {
    count(this.#bySession, sessionId ?? principal, -1);
    count(this.#byPrincipal, principal, -1);
    // The longest waiting that now has a place; one of a principal at its limit does not hold up the others.
    for (let at = this.#queue.findIndex(({ caller }) => this.#hasPlaceFor(caller)); at >= 0; ) {
      const [next] = this.#queue.splice(at, 1);
      next?.admit();
      at = this.#queue.findIndex(({ caller }) => this.#hasPlaceFor(caller));
    }
  }
}

function count<K>(counts: Map<K, number>, key: K, change: number): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
}
