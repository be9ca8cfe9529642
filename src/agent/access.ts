import { AppError, describe } from "../lib/errors.js";
import type { ThreadId } from "../lib/ids.js";
import { ThreadNotFound } from "../threads/errors.js";
import type { ThreadOwners } from "../threads/store.js";
import { type Caller, hasScope, type Principal, type SessionId } from "./caller.js";

/** The number of threads that one session may hold. Each takes a map entry until the session ends. */
const MAX_THREADS_PER_SESSION = 10_000;

export class TooManyThreads extends AppError {
  readonly code = "too_many_threads";
  constructor() {
    super(`This session has used ${MAX_THREADS_PER_SESSION} threads. Close it and open a new one.`);
  }
}

export interface AccessOptions {
  readonly owners: ThreadOwners;
  /** Whether the session has a connected client now, or had one a moment ago. */
  readonly isAttended: (session: SessionId) => boolean;
  /** Whether network callers may also use threads without an owner. */
  readonly sharesUnowned: () => boolean;
  readonly report: (line: string) => void;
}

/** The caller of an operation, and the signal that aborts when it gives up. */
export interface Asker {
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
}

/**
 * Decides who may use a thread. The session that used the thread last holds it while that session is attended; otherwise the principal that
 * started the thread owns it. Anyone else gets `ThreadNotFound`, as for an id that does not exist. A caller without a session may use its
 * principal's threads that no session holds, or all of them if it has `seesSessions`. A stdio caller may use every thread.
 */
export class ThreadAccess {
  readonly #holders = new Map<ThreadId, SessionId>();
  readonly #held = new Map<SessionId, Set<ThreadId>>();

  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Makes the caller the owner of a new thread. Throws `StorageFailed` if the owner cannot be stored. */
  async claim(id: ThreadId, { caller, signal }: Asker): Promise<void> {
    if (!caller) return;
    const { sessionId, principal } = caller;
    this.#checkRoom(sessionId);
    await this.#options.owners.keep(id, principal);
    this.#hold(id, sessionId, signal);
  }

  /**
   * Runs `use` on a thread that the caller may use; its session holds the thread from then on. Throws `ThreadNotFound` after checking the
   * owner only, so that the response time does not reveal whether the thread exists.
   */
  async using<T>(id: ThreadId, { caller, signal }: Asker, use: () => Promise<T>): Promise<T> {
    if (!caller) return use();
    const { sessionId } = caller;
    const mine = this.#isHeldBy(id, sessionId);
    if (!mine) {
      const mayUse = await this.#belongsTo(id, caller.principal);
      // Checked in the same synchronous step as `#hold`: another session may be about to take the thread.
      if (!mayUse || this.#isHeldByOther(id, caller)) throw new ThreadNotFound(id);
      this.#checkRoom(sessionId);
      this.#hold(id, sessionId, signal);
    }
    try {
      return await use();
    } catch (error) {
      // A thread that does not exist must not stay held.
      if (!mine && error instanceof ThreadNotFound) this.#release(id, sessionId);
      throw error;
    }
  }

  /** Whether the caller could use a thread now. Does not change who holds it. */
  async isOpenTo(id: ThreadId, caller: Caller | undefined): Promise<boolean> {
    if (!caller || this.#isHeldBy(id, caller.sessionId)) return true;
    const mayUse = await this.#belongsTo(id, caller.principal);
    return mayUse && !this.#isHeldByOther(id, caller);
  }

  /** Whether the caller may watch a thread: its principal owns it, or the caller is an operator. */
  async isVisibleTo(id: ThreadId, caller: Caller | undefined): Promise<boolean> {
    if (!caller || hasScope(caller, "operator")) return true;
    if (caller.inside || !hasScope(caller, "read") || !(await this.#belongsTo(id, caller.principal))) return false;
    return caller.sessionId === undefined || !this.#isHeldByOther(id, caller);
  }

  /**
   * The only threads that can be open or visible to the caller, because the others have no owner. Undefined if those are shared, or if the
   * caller sees all.
   */
  async ownedOnly(caller: Caller, { watches }: { readonly watches: boolean }): Promise<ReadonlySet<ThreadId> | undefined> {
    if ((watches && hasScope(caller, "operator")) || this.#options.sharesUnowned()) return undefined;
    const held = caller.sessionId === undefined ? undefined : this.#held.get(caller.sessionId);
    try {
      const owned = await this.#options.owners.owned();
      return held && [...held].some((id) => !owned.has(id)) ? new Set([...owned, ...held]) : owned;
    } catch {
      // Each thread's owner is checked anyway.
      return undefined;
    }
  }

  /** Undefined if the thread has no owner or the owner cannot be read. */
  async ownerOf(id: ThreadId): Promise<Principal | undefined> {
    try {
      // Only `claim` writes owners, so the string is a Principal.
      return (await this.#options.owners.ownerOf(id)) as Principal | undefined;
    } catch {
      return undefined;
    }
  }

  /** Releases the session's threads to their owners. Call it when the session's calls are aborted. */
  sessionEnded(sessionId: SessionId): void {
    for (const id of this.#held.get(sessionId) ?? []) this.#holders.delete(id);
    this.#held.delete(sessionId);
  }

  /** The number of threads that a session holds now. */
  get heldCount(): number {
    return this.#holders.size;
  }

  #isHeldBy(id: ThreadId, sessionId: SessionId | undefined): boolean {
    return sessionId !== undefined && this.#holders.get(id) === sessionId;
  }

  #isHeldByOther(id: ThreadId, { sessionId, seesSessions }: Caller): boolean {
    const holder = this.#holders.get(id);
    return holder !== undefined && holder !== sessionId && seesSessions !== true && this.#options.isAttended(holder);
  }

  async #belongsTo(id: ThreadId, principal: string): Promise<boolean> {
    try {
      const owner = await this.#options.owners.ownerOf(id);
      return owner === undefined ? this.#options.sharesUnowned() : owner === principal;
    } catch (error) {
      this.#options.report(`no network caller may use thread ${id}: ${describe(error)}`);
      return false;
    }
  }

  #checkRoom(sessionId: SessionId | undefined): void {
    if (sessionId !== undefined && (this.#held.get(sessionId)?.size ?? 0) >= MAX_THREADS_PER_SESSION) throw new TooManyThreads();
  }

  /** An aborted call may have lost its session; the thread would then never be released. */
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
