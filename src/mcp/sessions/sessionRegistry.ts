import { randomUUID } from "node:crypto";
import type { Caller, Principal, SessionCaller, SessionId } from "../../agent/caller.js";
import { AppError } from "../../lib/errors.js";
import { endsWithin } from "../../lib/promises.js";
import { type Release, Shares } from "../../lib/shares.js";
import type { Session } from "./session.js";

/** The connection of a session, as far as the session's lifetime depends on it. */
export interface Connection {
  readonly transport: "http" | "websocket" | "sse";
  /** The number of open streams or sockets. */
  readonly streamCount: number;
  /** Whether a stream, a socket or a waiting request is open. */
  readonly isConnected: boolean;
  /** When the client last got a response; milliseconds since 1970, 0 for never. */
  readonly lastAnsweredAt: number;
  close(): Promise<void>;
}

export interface OpenSession<C extends Connection> {
  readonly caller: SessionCaller;
  readonly session: Session;
  readonly connection: C;
  readonly openedAt: number;
  lastUsedAt: number;
  requests: number;
}

export interface SessionLimits {
  readonly idleMs: number;
  /** How long a session counts as attended after its last request. */
  readonly attendedMs: number;
  /** How long a client may be disconnected during a call before the call is abandoned. */
  readonly vanishedMs: number;
  /** Maximum number of open sessions, shared by the principals. */
  readonly sessions: number;
}

export interface RegistryOptions<C extends Connection> {
  readonly limits: SessionLimits;
  readonly openSession: (caller: SessionCaller, connection: C) => Session;
  /** Called once for every session that ends. */
  readonly ended: (open: OpenSession<C>, reason: string) => void;
  readonly now?: () => number;
}

export class TooManySessions extends AppError {
  readonly code = "too_many_sessions";
}

/** How long the calls of an ended session have to complete. */
const WIND_UP_MS = 2_500;
/** The number of ended session ids that are remembered, so that their clients get the right error. */
const REMEMBERED_ENDED = 10_000;

/** The sessions of a listening server. They end on request, or after being idle for too long. */
export class SessionRegistry<C extends Connection> {
  readonly #open = new Map<string, OpenSession<C>>();
  readonly #ended = new Set<string>();
  readonly #closing = new Set<Promise<void>>();
  readonly #shares: Shares<Principal>;
  readonly #places = new Map<OpenSession<C>, Release>();
  /** Since when no client is connected to a session with running calls, as of the last sweep. */
  readonly #goneSince = new WeakMap<OpenSession<C>, number>();
  readonly #now: () => number;

  readonly #options: RegistryOptions<C>;

  constructor(options: RegistryOptions<C>) {
    this.#options = options;
    this.#shares = new Shares({ limit: options.limits.sessions });
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#open.size;
  }

  open(who: Omit<Caller, "sessionId">, { id, connection }: { readonly id?: string; readonly connection: C }): OpenSession<C> {
    const place = this.#takePlace(who.principal);
    // Session ids are made only here. The transport has checked an id that the client chose.
    const sessionId = (id ?? randomUUID()) as SessionId;
    const caller: SessionCaller = { ...who, sessionId };
    const now = this.#now();
    const session = this.#options.openSession(caller, connection);
    const open: OpenSession<C> = { caller, session, connection, openedAt: now, lastUsedAt: now, requests: 0 };
    this.#open.set(sessionId, open);
    this.#places.set(open, place);
    return open;
  }

  find(id: string): OpenSession<C> | "ended" | undefined {
    return this.#open.get(id) ?? (this.#ended.has(id) ? "ended" : undefined);
  }

  /** Whether the client is connected, or was active a moment ago. */
  isAttended(id: SessionId): boolean {
    const open = this.#open.get(id);
    if (!open) return false;
    const { connection, lastUsedAt } = open;
    return connection.isConnected || this.#now() - Math.max(lastUsedAt, connection.lastAnsweredAt) < this.#options.limits.attendedMs;
  }

  all(): Iterable<OpenSession<C>> {
    return this.#open.values();
  }

  /** Ends a session. It no longer exists for its client; its running calls are interrupted and get a response, and then its streams end. */
  end(open: OpenSession<C>, reason: string): void {
    const { sessionId } = open.caller;
    if (this.#open.get(sessionId) !== open) return;
    this.#open.delete(sessionId);
    this.#places.get(open)?.();
    this.#places.delete(open);
    this.#remember(sessionId);
    const closing: Promise<void> = windUp(open, new Error(reason)).finally(() => {
      this.#closing.delete(closing);
      this.#options.ended(open, reason);
    });
    this.#closing.add(closing);
  }

  /** Ends idle sessions, and calls whose clients are gone. */
  sweep(): void {
    this.#giveUpVanished();
    for (const open of this.#open.values())
      if (this.#isIdle(open) && this.#now() - open.lastUsedAt >= this.#options.limits.idleMs) this.end(open, "it was idle for too long");
  }

  /** A call with a broken connection is kept while its client has a stream, sends requests, or may still reconnect. */
  #giveUpVanished(): void {
    const now = this.#now();
    for (const open of this.#open.values()) {
      const { connection, session, lastUsedAt } = open;
      if (connection.isConnected || session.peer.servingCount === 0) this.#goneSince.delete(open);
      else if (!this.#goneSince.has(open)) this.#goneSince.set(open, now);
      const since = this.#goneSince.get(open);
      if (since === undefined || now - Math.max(since, lastUsedAt) < this.#options.limits.vanishedMs) continue;
      this.#goneSince.delete(open);
      session.vanish();
    }
  }

  async close(reason: string): Promise<void> {
    for (const open of this.#open.values()) this.end(open, reason);
    await Promise.allSettled(this.#closing);
  }

  /** Throws `TooManySessions`. */
  #takePlace(principal: Principal): Release {
    const place = this.#shares.take(principal) ?? (this.#makeRoom(principal) ? this.#shares.take(principal) : undefined);
    if (place) return place;
    const held = this.#shares.heldBy(principal);
    throw new TooManySessions(
      `This server has ${this.#open.size} sessions open, ${held === this.#open.size ? "which is its limit" : `${held} of them yours, which is your share`}. ` +
        "End one with DELETE, or try again later.",
    );
  }

  /**
   * Ends a session with a single call that was never used again, to make room for a new one: one of the principal's own, or any principal's
   * if this principal has none.
   */
  #makeRoom(principal: Principal): boolean {
    const isNew = this.#shares.heldBy(principal) === 0;
    for (const open of this.#open.values()) {
      if (!this.#isIdle(open) || open.requests > 1 || open.session.profile !== undefined) continue;
      if (!isNew && open.caller.principal !== principal) continue;
      this.end(open, "it was replaced by a new session");
      return true;
    }
    return false;
  }

  #isIdle({ session, connection }: OpenSession<C>): boolean {
    return connection.streamCount === 0 && session.peer.servingCount === 0;
  }

  #remember(id: string): void {
    this.#ended.add(id);
    if (this.#ended.size <= REMEMBERED_ENDED) return;
    const [oldest] = this.#ended;
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}

async function windUp({ session, connection }: OpenSession<Connection>, reason: Error): Promise<void> {
  session.interrupt(reason);
  if (session.peer.servingCount > 0) await endsWithin(WIND_UP_MS, session.peer.idle());
  session.close(reason);
  await connection.close();
}
