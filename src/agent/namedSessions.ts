import { AppError } from "../lib/errors.js";
import { withoutUndefined } from "../lib/fields.js";
import { deferred, Tasks, waitFor } from "../lib/promises.js";
import { ThreadNotFound } from "../threads/errors.js";
import type { TurnOutcome } from "../threads/events.js";
import type { NamedSession, NamedSessionStore, SpokenTurn } from "../threads/namedSession.js";
import type { Turn } from "../threads/turn.js";
import type { Agent, Ask } from "./agent.js";
import { checkScope, withoutSession } from "./caller.js";
import { CallCancelled, InvalidArguments } from "./errors.js";
import type { AskedSettings } from "./grantedSettings.js";

export interface NamedSessionsParts {
  readonly agent: Pick<Agent, "begin" | "replyWith" | "settingsOf">;
  readonly store: NamedSessionStore;
  /** The maximum number of sessions per owner. The least recently used one is dropped. */
  readonly limit: number;
  /** How long a session is kept after its last use. */
  readonly ttlMs: number;
  readonly now?: () => number;
  /** Writes to the server's own output. */
  readonly report: (line: string) => void;
}

/** A request for a turn on a named session. */
export interface SessionTurnRequest {
  readonly id: string;
  readonly prompt: string;
  /** Discards the earlier conversation. */
  readonly reset: boolean;
  /** The settings of a new thread. Named settings also change an existing thread. */
  readonly asked: AskedSettings;
  /** The defaults for a new thread, where `asked` has no value. */
  readonly forNewThread: AskedSettings;
  readonly turnId: Parameters<Agent["begin"]>[2]["turnId"];
  /** The prompt for a thread that replaces one that no longer exists. */
  readonly withoutThread: (recent: readonly SpokenTurn[]) => string;
}

const NAME = /^[A-Za-z0-9_-]{1,256}$/;
const MOST_RECENT = 2;
const LONGEST_PROMPT = 1_000;
const LONGEST_RESPONSE = 4_000;
/** The number of calls that may wait on one session until the call before them has started its turn. */
const MOST_WAITING = 32;

export class TooManyWaiting extends AppError {
  readonly code = "too_many_queued_turns";

  constructor(id: string) {
    super(`${MOST_WAITING} calls wait on session ${id} already. Wait for an answer before you send more.`);
  }
}

/**
 * Conversations under names that callers choose. A name belongs to its principal: two principals with the same name have two sessions.
 * Turns of one session run one after the other. All connections of a principal continue the same thread.
 */
export class NamedSessions {
  readonly #parts: NamedSessionsParts;
  readonly #now: () => number;
  readonly #queues = new Map<string, { tail: Promise<void>; waiting: number }>();
  readonly #noting: Tasks;

  constructor(parts: NamedSessionsParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#noting = new Tasks((name, error) => parts.report(`${name}: ${error instanceof Error ? error.message : String(error)}`));
  }

  /** The caller's sessions that have not expired, most recently used first. */
  async list({ caller }: Ask): Promise<readonly NamedSession[]> {
    checkScope(caller, "call");
    // Turns that have just ended must be counted already.
    await this.#noting.settle();
    return this.#kept(caller?.principal);
  }

  /** Starts the next turn of a session. The first turn creates the session. */
  async turn(ask: Ask, request: SessionTurnRequest): Promise<Turn> {
    if (!NAME.test(request.id)) throw new InvalidArguments("A session's id has 1 to 256 letters, digits, hyphens and underscores.");
    const owner = ask.caller?.principal;
    using _place = await this.#enter(owner, request.id, ask.signal);
    const session = await this.#opened(owner, request);
    const turn = await this.#begun(asPrincipal(ask), session, request);
    try {
      const { cwd, sandboxPolicy } = await this.#parts.agent.settingsOf(asPrincipal(ask), turn.threadId);
      await this.#parts.store.keep(owner, { ...session, threadId: turn.threadId, cwd, sandbox: sandboxPolicy.type });
    } catch (error) {
      // The session could not be stored, so nobody could find the turn again.
      turn.interrupt();
      throw error;
    }
    // The outcome never rejects.
    void turn.outcome.then((outcome) =>
      this.#noting.start(`session ${request.id}`, () => this.#noteEnd(owner, { turn, outcome }, request)),
    );
    return turn;
  }

  /** Resolves when the results of ended turns are stored. */
  settle(): Promise<void> {
    return this.#noting.settle();
  }

  /** The session exists from now on, even if its turn fails to start. */
  async #opened(owner: string | undefined, { id, reset }: SessionTurnRequest): Promise<NamedSession> {
    const { store, limit, ttlMs } = this.#parts;
    const now = this.#now();
    const stored = await store.find(owner, id);
    const found = stored && now - stored.lastUsedAt <= ttlMs ? stored : undefined;
    const session: NamedSession =
      found && !reset
        ? { ...found, lastUsedAt: now }
        : { id, createdAt: found?.createdAt ?? now, lastUsedAt: now, turnCount: 0, recent: [] };
    const others = found ? [] : (await this.#kept(owner)).filter((other) => other.id !== id);
    for (const { id: oldest } of others.slice(Math.max(0, limit - 1))) await store.drop(owner, oldest);
    await store.keep(owner, session);
    return session;
  }

  async #begun(ask: Ask, session: NamedSession, request: SessionTurnRequest): Promise<Turn> {
    const { prompt, asked, forNewThread, turnId } = request;
    const { threadId, cwd, sandbox, recent } = session;
    const { agent } = this.#parts;
    if (threadId !== undefined) {
      try {
        return await agent.replyWith(ask, threadId, { text: prompt }, asked);
      } catch (error) {
        if (!(error instanceof ThreadNotFound)) throw error;
      }
    }
    const text = recent.length > 0 ? request.withoutThread(recent) : prompt;
    const own = { ...(cwd !== undefined && { cwd }), ...(sandbox !== undefined && { sandbox }) };
    return agent.begin(ask, { text }, { ...forNewThread, ...own, ...withoutUndefined(asked), turnId });
  }

  async #noteEnd(
    owner: string | undefined,
    { turn, outcome }: { readonly turn: Turn; readonly outcome: TurnOutcome },
    { id, prompt }: SessionTurnRequest,
  ): Promise<void> {
    if (outcome.status !== "completed") return;
    using _place = await this.#enter(owner, id);
    const session = await this.#parts.store.find(owner, id);
    // The session was reset, dropped, or has another thread since.
    if (session?.threadId !== turn.threadId) return;
    const spoken = { prompt: prompt.slice(0, LONGEST_PROMPT), response: (outcome.lastMessage ?? "").slice(0, LONGEST_RESPONSE) };
    await this.#parts.store.keep(owner, {
      ...session,
      lastUsedAt: this.#now(),
      turnCount: session.turnCount + 1,
      recent: [...session.recent, spoken].slice(-MOST_RECENT),
    });
  }

  async #kept(owner: string | undefined): Promise<readonly NamedSession[]> {
    const { store, ttlMs } = this.#parts;
    const now = this.#now();
    const all = await store.list(owner);
    const expired = all.filter(({ lastUsedAt }) => now - lastUsedAt > ttlMs);
    for (const { id } of expired) await store.drop(owner, id);
    return all.filter((session) => !expired.includes(session)).sort((one, other) => other.lastUsedAt - one.lastUsedAt);
  }

  /**
   * Waits for the earlier calls on the same session. The queue limit applies only to calls with a signal. Throws `TooManyWaiting`,
   * `CallCancelled`.
   */
  async #enter(owner: string | undefined, id: string, signal?: AbortSignal): Promise<Disposable> {
    const key = JSON.stringify([owner ?? null, id]);
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), waiting: 0 };
    if (signal && queue.waiting >= MOST_WAITING) throw new TooManyWaiting(id);
    this.#queues.set(key, queue);
    queue.waiting++;
    const { tail: before } = queue;
    const left = deferred<void>();
    const leave = () => {
      if (--queue.waiting === 0) this.#queues.delete(key);
      left.resolve();
    };
    queue.tail = before.then(() => left.promise);
    const waited = await waitFor(before, { signal });
    if (waited.at === "ended" && signal?.aborted !== true) return { [Symbol.dispose]: leave };
    leave();
    throw new CallCancelled();
  }
}

/** The name belongs to the principal, so no single session may hold the thread. */
function asPrincipal(ask: Ask): Ask {
  return { ...ask, caller: withoutSession(ask.caller) };
}
