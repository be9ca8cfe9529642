import type { Agent, Ask } from "../../agent/agent.js";
import type { ThreadId, TurnKey } from "../../lib/ids.js";

/** An open stream counts as a follower: turns are not ended as unattended while someone watches them. */
export class Onlooker implements Disposable {
  readonly #agent: Agent;
  readonly #ask: Ask;
  readonly #watched = new Map<TurnKey, Disposable>();

  constructor(agent: Agent, ask: Ask) {
    this.#agent = agent;
    this.#ask = ask;
  }

  /** Follows all turns that run or wait on a thread. */
  async watch(threadId: ThreadId): Promise<void> {
    for (const turn of await this.#agent.runningTurns(this.#ask, threadId))
      if (!this.#watched.has(turn.key)) this.#watched.set(turn.key, this.#agent.lookOn(turn));
  }

  leave(turn: TurnKey): void {
    this.#watched.get(turn)?.[Symbol.dispose]();
    this.#watched.delete(turn);
  }

  [Symbol.dispose](): void {
    for (const turn of this.#watched.values()) turn[Symbol.dispose]();
    this.#watched.clear();
  }
}
