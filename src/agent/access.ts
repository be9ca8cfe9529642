import { AppError, describe } from "../lib/errors.js";
import type { ThreadId } from "../lib/ids.js";
import { ThreadNotFound } from "../threads/errors.js";
import type { ThreadOwners } from "../threads/store.js";
import { type Caller, hasScope, type Principal, type SessionId } from "./caller.js";

/** Threads one session may have; each costs a line of memory until the session is over. */
const MAX_THREADS_PER_SESSION = 10_000;

export class TooManyThreads extends AppError {
  readonly code = "too_many_threads";
  constructor() {
    super(`This session has used ${MAX_THREADS_PER_SESSION} threads. Close it and go on in a new one.`);
  }
}

export interface AccessOptions {
  readonly owners: ThreadOwners;
  /** Somebody is at the other end of a session now, or was a moment ago. */
  readonly isAttended: (session: SessionId) => boolean;
  /** Network callers may also use threads that nobody of them started. */
  readonly sharesUnowned: () => boolean;
  readonly report: (line: string) => void;
}

/** Who asks, and whether they still do. */
export interface Asker {
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
}

/**
 * Whose threads are whose: the session's that used a thread last while that session is attended, else the principal's that started it.
 * Whoever else names it is told what one is told who names nothing. A caller without a session has what no session has of its
 * principal's, or all of that when it speaks for the principal as a whole; a caller on stdio has the whole disk.
 */
export class ThreadAccess {
  readonly #holders = new Map<ThreadId, SessionId>();
  readonly #held = new Map<SessionId, Set<ThreadId>>();

  constructor(private readonly options: AccessOptions) {}

  /** Makes a new thread its caller's. Throws `StorageFailed` when that cannot be kept. */
  async claim(id: ThreadId, { caller, signal }: Asker): Promise<void> {
    if (!caller) return;
    const { sessionId, principal } = caller;
    this.#checkRoom(sessionId);
    await this.options.owners.keep(id, principal);
    this.#hold(id, sessionId, signal);
  }

  /**
   * Runs `use` on a thread that the caller may use, and which is the session's from then on. Throws `ThreadNotFound` when
   * nothing of the thread was looked at but its owner: how long that takes does not tell whether the thread exists.
   */
  async using<T>(id: ThreadId, { caller, signal }: Asker, use: () => Promise<T>): Promise<T> {
    if (!caller) return use();
    const { sessionId } = caller;
    const mine = this.#isHeldBy(id, sessionId);
    if (!mine) {
      const mayUse = await this.#belongsTo(id, caller.principal);
      // In one step with taking hold of it: another session may be about to do the same.
      if (!mayUse || this.#isHeldByOther(id, caller)) throw new ThreadNotFound(id);
      this.#checkRoom(sessionId);
      this.#hold(id, sessionId, signal);
    }
    try {
      return await use();
    } catch (error) {
      // Nothing is held that is not there.
      if (!mine && error instanceof ThreadNotFound) this.#release(id, sessionId);
      throw error;
    }
  }

  /** Whether the caller could use a thread now. It stays whose it is. */
  async isOpenTo(id: ThreadId, caller: Caller | undefined): Promise<boolean> {
    if (!caller || this.#isHeldBy(id, caller.sessionId)) return true;
    const mayUse = await this.#belongsTo(id, caller.principal);
    return mayUse && !this.#isHeldByOther(id, caller);
  }

  /** Whether the caller may watch a thread, whichever session uses it: it is its principal's, or the caller sees everybody's. */
  async isVisibleTo(id: ThreadId, caller: Caller | undefined): Promise<boolean> {
    if (!caller || hasScope(caller, "operator")) return true;
    if (caller.inside || !hasScope(caller, "read") || !(await this.#belongsTo(id, caller.principal))) return false;
    return caller.sessionId === undefined || !this.#isHeldByOther(id, caller);
  }

  /** Undefined for a thread without one, and for one of which it cannot be told. */
  async ownerOf(id: ThreadId): Promise<Principal | undefined> {
    try {
      // Kept by `claim`, and by nobody else.
      return (await this.options.owners.ownerOf(id)) as Principal | undefined;
    } catch {
      return undefined;
    }
  }

  /** Its threads are their owners' again. To be called when the session's calls are aborted. */
  sessionEnded(sessionId: SessionId): void {
    for (const id of this.#held.get(sessionId) ?? []) this.#holders.delete(id);
    this.#held.delete(sessionId);
  }

  /** Threads that belong to a session now. */
  get heldCount(): number {
    return this.#holders.size;
  }

  #isHeldBy(id: ThreadId, sessionId: SessionId | undefined): boolean {
    return sessionId !== undefined && this.#holders.get(id) === sessionId;
  }

  #isHeldByOther(id: ThreadId, { sessionId, seesSessions }: Caller): boolean {
    const holder = this.#holders.get(id);
    return holder !== undefined && holder !== sessionId && seesSessions !== true && this.options.isAttended(holder);
  }

  async #belongsTo(id: ThreadId, principal: string): Promise<boolean> {
    try {
      const owner = await this.options.owners.ownerOf(id);
      return owner === undefined ? this.options.sharesUnowned() : owner === principal;
    } catch (error) {
      this.options.report(`nobody may use thread ${id}: ${describe(error)}`);
      return false;
    }
  }

  #checkRoom(sessionId: SessionId | undefined): void {
    if (sessionId !== undefined && (this.#held.get(sessionId)?.size ?? 0) >= MAX_THREADS_PER_SESSION) throw new TooManyThreads();
  }

  /** A call that was aborted may have lost its session, and nobody would give the thread back. */
  #hold(id: ThreadId, sessionId: SessionId | undefined, signal: AbortSignal): void {
    if (sessionId === undefined || signal.aborted) return;
    this.#release(id, this.#holders.get(id));
    this.#holders.set(id, sessionId);
    const held = this.#held.get(sessionId) ?? new Set();
    this.#held.set(sessionId, held.add(id));
  }

  #release(id: ThreadId, sessionId: SessionId | undefined): void {
    if (sessionId === undefined) return;
    const held = this.#held.get(sessionId);
    if (!held?.delete(id)) return;
    this.#holders.delete(id);
    if (held.size === 0) this.#held.delete(sessionId);
  }
}
