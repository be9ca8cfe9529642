import type { Agent, Ask } from "../../agent/agent.js";
import type { FeedEntry } from "../../agent/feed.js";
import type { ThreadId, TurnKey } from "../../lib/ids.js";
import { type Holding, surplusOf } from "../../lib/shares.js";
import type { TurnResource } from "../schemas/threads.js";
import { turnView } from "./views.js";

/**
 * The limits of ended turns that can still be requested by id: their number, and the size of their results. Their messages stay on the
 * threads permanently.
 */
const MOST_KEPT = 256;
const MOST_CHARACTERS = 8_000_000;

interface KeptTurn {
  readonly threadId: ThreadId;
  /** The thread's owner. */
  readonly principal: string | undefined;
  readonly turn: Promise<TurnResource>;
  /** The length of its result, once known. */
  characters: number;
}

/** Results of ended turns of all callers, by id. Users of this class check access. */
export class TurnBook {
  readonly #kept = new Map<string, KeptTurn>();
  readonly #ask: Ask;
  readonly #ended = new AbortController();

  constructor() {
    // The server's own user sees every turn.
    this.#ask = { caller: undefined, signal: this.#ended.signal };
  }

  /** Undefined for a turn that is unknown, still running, or long past. */
  find(threadId: ThreadId, turnId: string): Promise<TurnResource> | undefined {
    const kept = this.#kept.get(turnId);
    return kept?.threadId === threadId ? kept.turn : undefined;
  }

  /** Records the agent's turns until it is closed. */
  async follow(agent: Agent): Promise<void> {
    for await (const entry of agent.feed.read(undefined, { after: agent.feed.start, signal: this.#ended.signal }))
      if (entry.type === "turnQueued") await this.#note(agent, entry);
  }

  close(): void {
    this.#ended.abort();
  }

  async #note(agent: Agent, { threadId, turnKey }: Extract<FeedEntry, { type: "turnQueued" }>): Promise<void> {
    // The thread may be gone meanwhile. Later turns of other threads must still be recorded.
    const running = await agent.runningTurns(this.#ask, threadId).catch(() => []);
    const turn = running.find(({ key }) => key === turnKey);
    if (!turn) return;
    // The outcome never rejects.
    const principal = agent.feed.ownerOf(threadId);
    void turn.outcome.then(() =>
      this.#keep(turnKey, { threadId, principal, turn: turnView(agent, turn, { isWaiting: false }), characters: 0 }),
    );
  }

  #keep(key: TurnKey, kept: KeptTurn): void {
    this.#kept.set(key, kept);
    this.#makeRoom();
    kept.turn.then(
      ({ answer }) => {
        kept.characters = answer?.length ?? 0;
        this.#makeRoom();
      },
      () => this.#kept.delete(key),
    );
  }

  #makeRoom(): void {
    for (const [key] of surplusOf(this.#kept, MOST_KEPT, { ownerOf })) this.#kept.delete(key);
    for (const [key] of surplusOf(this.#kept, MOST_CHARACTERS, { ownerOf, weightOf: ([, kept]) => kept.characters }))
      this.#kept.delete(key);
  }
}

const ownerOf: Holding<[unknown, KeptTurn]>["ownerOf"] = ([, { principal }]) => principal;
