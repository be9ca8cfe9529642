import { randomUUID } from "node:crypto";
import type { Caller, Principal, SessionCaller, SessionId } from "../../agent/caller.js";
import { AppError } from "../../lib/errors.js";
import { endsWithin } from "../../lib/promises.js";
import { type Release, Shares } from "../../lib/shares.js";
import type { Session } from "./session.js";

/** How a session is connected, as far as its life depends on it. */
export interface Connection {
  readonly transport: "http" | "websocket" | "sse";
  /** Streams or sockets that are open now. */
  readonly streamCount: number;
  /** A stream, a socket, or a request that waits for its answer is open. */
  readonly isConnected: boolean;
  /** When a client last got an answer; milliseconds since 1970, 0 for never. */
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
  /** How long a session counts as attended after the last request. */
  readonly attendedMs: number;
  /** How long a client may be gone in the middle of a call before nobody waits for it any more. */
  readonly vanishedMs: number;
  /** Sessions that may be open, shared by principals. */
  readonly sessions: number;
}

export interface RegistryOptions<C extends Connection> {
  readonly limits: SessionLimits;
  readonly openSession: (caller: SessionCaller, connection: C) => Session;
  /** Called once for every session that is over. */
  readonly ended: (open: OpenSession<C>, reason: string) => void;
  readonly now?: () => number;
}

export class TooManySessions extends AppError {
  readonly code = "too_many_sessions";
}

/** How long calls of an ended session have to be answered. */
const WIND_UP_MS = 2_500;
/** Ids of ended sessions that are remembered, so that their clients learn that they are over. */
const REMEMBERED_ENDED = 10_000;

/** The sessions of a listening server: found by id, ended when told or when nobody has used them for long. */
export class SessionRegistry<C extends Connection> {
  readonly #open = new Map<string, OpenSession<C>>();
  readonly #ended = new Set<string>();
  readonly #closing = new Set<Promise<void>>();
  readonly #shares: Shares<Principal>;
  readonly #places = new Map<OpenSession<C>, Release>();
  /** Since when nobody is connected to sessions whose calls are being worked on, as far as it was noticed. */
  readonly #goneSince = new WeakMap<OpenSession<C>, number>();
  readonly #now: () => number;

  constructor(private readonly options: RegistryOptions<C>) {
    this.#shares = new Shares({ limit: options.limits.sessions });
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#open.size;
  }

  open(who: Omit<Caller, "sessionId">, { id, connection }: { readonly id?: string; readonly connection: C }): OpenSession<C> {
    const place = this.#takePlace(who.principal);
    // Made here and nowhere else; one the client chose was checked by the transport.
    const sessionId = (id ?? randomUUID()) as SessionId;
    const caller: SessionCaller = { ...who, sessionId };
    const now = this.#now();
    const session = this.options.openSession(caller, connection);
    const open: OpenSession<C> = { caller, session, connection, openedAt: now, lastUsedAt: now, requests: 0 };
    this.#open.set(sessionId, open);
    this.#places.set(open, place);
    return open;
  }

  find(id: string): OpenSession<C> | "ended" | undefined {
    return this.#open.get(id) ?? (this.#ended.has(id) ? "ended" : undefined);
  }

  /** Its client is connected, or was heard of a moment ago. */
  isAttended(id: SessionId): boolean {
    const open = this.#open.get(id);
    if (!open) return false;
    const { connection, lastUsedAt } = open;
    return connection.isConnected || this.#now() - Math.max(lastUsedAt, connection.lastAnsweredAt) < this.options.limits.attendedMs;
  }

  all(): Iterable<OpenSession<C>> {
    return this.#open.values();
  }

  /** The session is gone for its client at once; its running calls are interrupted and answered, then its streams end. */
  end(open: OpenSession<C>, reason: string): void {
    const { sessionId } = open.caller;
    if (this.#open.get(sessionId) !== open) return;
    this.#open.delete(sessionId);
    this.#places.get(open)?.();
    this.#places.delete(open);
    this.#remember(sessionId);
    const closing: Promise<void> = windUp(open, new Error(reason)).finally(() => {
      this.#closing.delete(closing);
      this.options.ended(open, reason);
    });
    this.#closing.add(closing);
  }

  /** Ends sessions that nobody has used for long, and calls whose clients are gone. */
  sweep(): void {
    this.#giveUpVanished();
    for (const open of this.#open.values())
      if (this.#isIdle(open) && this.#now() - open.lastUsedAt >= this.options.limits.idleMs) this.end(open, "nobody used it for long");
  }

  /** A call whose connection broke is waited for while its client has a stream, sends a request, or may come back for what it missed. */
  #giveUpVanished(): void {
    const now = this.#now();
    for (const open of this.#open.values()) {
      const { connection, session, lastUsedAt } = open;
      if (connection.isConnected || session.peer.servingCount === 0) this.#goneSince.delete(open);
      else if (!this.#goneSince.has(open)) this.#goneSince.set(open, now);
      const since = this.#goneSince.get(open);
      if (since === undefined || now - Math.max(since, lastUsedAt) < this.options.limits.vanishedMs) continue;
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
      `This server has ${this.#open.size} sessions open, ${held === this.#open.size ? "which is its limit" : `${held} of them yours, and no more for you`}. ` +
        "End one with DELETE, or try again later.",
    );
  }

  /**
   * Sessions that came into being by a single call and were never used again make way for new ones: the principal's own, and anybody's for one that
   * has none.
   */
  #makeRoom(principal: Principal): boolean {
    const isNew = this.#shares.heldBy(principal) === 0;
    for (const open of this.#open.values()) {
      if (!this.#isIdle(open) || open.requests > 1 || open.session.profile !== undefined) continue;
      if (!isNew && open.caller.principal !== principal) continue;
      this.end(open, "it made way for a new one");
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
