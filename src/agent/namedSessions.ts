import { AppError } from "../lib/errors.js";
import { deferred, Tasks, waitFor } from "../lib/promises.js";
import { ThreadNotFound } from "../threads/errors.js";
import type { TurnOutcome } from "../threads/events.js";
import type { NamedSession, NamedSessionStore, SpokenTurn } from "../threads/namedSession.js";
import type { Turn } from "../threads/turn.js";
import type { Agent, Ask } from "./agent.js";
import type { AskedSettings } from "./askedSettings.js";
import { checkScope, withoutSession } from "./caller.js";
import { CallCancelled, InvalidArguments } from "./errors.js";

export interface NamedSessionsParts {
  readonly agent: Pick<Agent, "begin" | "replyWith" | "settingsOf">;
  readonly store: NamedSessionStore;
  /** How many one owner may have; the one that was used longest ago makes room. */
  readonly limit: number;
  /** How long a session is kept after its last use. */
  readonly ttlMs: number;
  readonly now?: () => number;
  /** For people who look at the server's own output. */
  readonly report: (line: string) => void;
}

/** A turn on a named session. */
export interface SessionTurnRequest {
  readonly id: string;
  readonly prompt: string;
  /** What was said on it before counts no more. */
  readonly reset: boolean;
  /** Of its thread when it begins; what is named here also changes a thread that goes on. */
  readonly asked: AskedSettings;
  /** What holds for a thread that begins, where `asked` says nothing. */
  readonly forNewThread: AskedSettings;
  readonly turnId: Parameters<Agent["begin"]>[2]["turnId"];
  /** The prompt for a thread that takes the place of one that is gone. */
  readonly withoutThread: (recent: readonly SpokenTurn[]) => string;
}

const NAME = /^[A-Za-z0-9_-]{1,256}$/;
const MOST_RECENT = 2;
const LONGEST_PROMPT = 1_000;
const LONGEST_RESPONSE = 4_000;
/** Calls that may wait for the one before them on the same session to have begun its turn. */
const MOST_WAITING = 32;

export class TooManyWaiting extends AppError {
  readonly code = "too_many_queued_turns";

  constructor(id: string) {
    super(`${MOST_WAITING} calls wait on session ${id} already. Wait for an answer before you send more.`);
  }
}

/**
 * Conversations by names that callers choose. A name belongs to whoever uses it: two principals with the same name have two sessions. Turns of one session
 * run one after the other, and whichever of a principal's connections asks goes on with the same thread.
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

  /** Those of the caller that have not expired, the one that was used last first. */
  async list({ caller }: Ask): Promise<readonly NamedSession[]> {
    checkScope(caller, "call");
    // Whoever asks after an answer finds it counted.
    await this.#noting.settle();
    return this.#kept(caller?.principal);
  }

  /** The next turn of a session, which begins with its first. */
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
      // Nobody would find it again.
      turn.interrupt();
      throw error;
    }
    // The outcome never rejects.
    void turn.outcome.then((outcome) =>
      this.#noting.start(`session ${request.id}`, () => this.#noteEnd(owner, { turn, outcome }, request)),
    );
    return turn;
  }

  /** Resolves when what the turns came to is written down. */
  settle(): Promise<void> {
    return this.#noting.settle();
  }

  /** It exists from now on, also when its turn does not come to begin. */
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
    return agent.begin(ask, { text }, { ...forNewThread, ...own, ...withoutAbsent(asked), turnId });
  }

  async #noteEnd(
    owner: string | undefined,
    { turn, outcome }: { readonly turn: Turn; readonly outcome: TurnOutcome },
    { id, prompt }: SessionTurnRequest,
  ): Promise<void> {
    if (outcome.status !== "completed") return;
    using _place = await this.#enter(owner, id);
    const session = await this.#parts.store.find(owner, id);
    // It was reset, dropped, or has another thread since.
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

  /** A place behind whoever came before on the same session. Only those who may give up are too many: throws `TooManyWaiting`, `CallCancelled`. */
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

/** The name is the principal's, whichever of its connections asks: none of them keeps the thread to itself. */
function asPrincipal(ask: Ask): Ask {
  return { ...ask, caller: withoutSession(ask.caller) };
}

function withoutAbsent(asked: AskedSettings): AskedSettings {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}
