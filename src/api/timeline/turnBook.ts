import type { Agent, Ask } from "../../agent/agent.js";
import type { FeedEntry } from "../../agent/feed.js";
import type { ThreadId, TurnKey } from "../../lib/ids.js";
import type { TurnResource } from "../schemas/threads.js";
import { turnView } from "./views.js";

/** Ended turns that can still be asked for by their ids. What was said in them is on their threads for good. */
const MOST_KEPT = 256;

interface KeptTurn {
  readonly threadId: ThreadId;
  readonly turn: Promise<TurnResource>;
}

/** How turns ended, whoever began them: for those who come for the end of one by its id. Whether they may is checked by those who look here. */
export class TurnBook {
  readonly #kept = new Map<string, KeptTurn>();
  readonly #ask: Ask;
  readonly #ended = new AbortController();

  constructor() {
    // The server's own user sees every turn.
    this.#ask = { caller: undefined, signal: this.#ended.signal };
  }

  /** Undefined for one that is unknown, runs, or is long past. */
  find(threadId: ThreadId, turnId: string): Promise<TurnResource> | undefined {
    const kept = this.#kept.get(turnId);
    return kept?.threadId === threadId ? kept.turn : undefined;
  }

  /** Takes note of the agent's turns until it is closed. */
  async follow(agent: Agent): Promise<void> {
    for await (const entry of agent.feed.read(undefined, { after: agent.feed.start, signal: this.#ended.signal }))
      if (entry.type === "turnQueued") await this.#note(agent, entry);
  }

  close(): void {
    this.#ended.abort();
  }

  async #note(agent: Agent, { threadId, turnKey }: Extract<FeedEntry, { type: "turnQueued" }>): Promise<void> {
    const turn = (await agent.runningTurns(this.#ask, threadId)).find(({ key }) => key === turnKey);
    if (!turn) return;
    // The outcome never rejects.
    void turn.outcome.then(() => this.#keep(turnKey, { threadId, turn: turnView(agent, turn, { isWaiting: false }) }));
  }

  #keep(key: TurnKey, kept: KeptTurn): void {
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MOST_KEPT) this.#kept.delete(oldest);
  }
}
