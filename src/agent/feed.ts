import { randomUUID } from "node:crypto";
import type { ApprovalDecision, ApprovalId, ApprovalRequest, ApprovalSubject } from "../approvals/model.js";
import type { ThreadId, TurnId, TurnKey } from "../lib/ids.js";
import { type Deferred, deferred } from "../lib/promises.js";
import type { TurnOutcome } from "../threads/events.js";
import type { LoadedThread, ObservedTurn, ThreadObserver } from "../threads/observer.js";
import { type Caller, hasScope, type Principal } from "./caller.js";

/** Entries that are kept for readers who come later or are behind. */
const MOST_KEPT = 10_000;

/**
 * What happens on any thread. What happens inside a turn is in the turn's own log, and what a question is about at the desk: entries are kept by the
 * thousand, so that each says only which thing it is about.
 */
export type FeedFact =
  | { readonly type: "threadOpened"; readonly origin: LoadedThread["origin"]; readonly cwd: string; readonly model: string }
  | ({ readonly type: "turnQueued" } & TurnRef)
  | ({ readonly type: "turnBegun" } & TurnRef)
  | ({ readonly type: "questionAsked"; readonly questionId: ApprovalId; readonly kind: ApprovalSubject["kind"] } & TurnRef)
  | ({
      readonly type: "questionAnswered";
      readonly questionId: ApprovalId;
      readonly decision: ApprovalDecision["kind"];
      readonly by: ApprovalDecision["by"];
      readonly who: ApprovalDecision["who"];
    } & TurnRef)
  | ({ readonly type: "turnEnded"; readonly status: TurnOutcome["status"] } & TurnRef)
  | { readonly type: "threadChanged"; readonly change: ThreadChange; readonly name?: string | undefined }
  | { readonly type: "threadClosed" };

/** What somebody did to a thread as it is kept. */
export type ThreadChange = "renamed" | "archived" | "unarchived" | "removed" | "forked";

interface TurnRef {
  readonly turnId: TurnId;
  /** No other turn has it, in no process. */
  readonly turnKey: TurnKey;
}

export type FeedEntry = {
  /** Where a reader that comes back goes on. Of this feed only: another server's cursor begins with another word. */
  readonly cursor: string;
  /** Grows by one with each entry of the feed, seen by the reader or not. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly threadId: ThreadId;
} & FeedFact;

/** What a reader gets besides entries: some that it may have wanted are no longer kept. It has to look at the threads themselves. */
export interface FeedGap {
  readonly type: "gap";
}

interface ChangedThread {
  readonly owner: Principal | undefined;
}

export interface FeedReading {
  /** The last entry that the reader has seen; without it only what is new from now on. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * What happens on the threads of this process, numbered, for whoever watches more than one call: listeners, the HTTP API, the console. A reader
 * sees the threads of its principal, an operator and the server's own user see all. A slow reader delays nobody and misses at most what is older
 * than the entries that are kept, which it is told.
 */
export class Feed implements ThreadObserver {
  readonly #name = randomUUID().slice(0, 8);
  readonly #entries: { readonly entry: FeedEntry; readonly owner: Principal | undefined }[] = [];
  readonly #owners = new Map<ThreadId, Principal>();
  #last = 0;
  #more: Deferred<void> = deferred();
  #ended = false;

  /** The cursor before everything: a reader that begins there gets all that is kept. */
  get start(): string {
    return `${this.#name}-0`;
  }

  /** The cursor of the last entry: a reader that begins there gets what is new from now on. */
  get now(): string {
    return `${this.#name}-${this.#last}`;
  }

  /** The entry that a cursor names; undefined when it is no longer kept, or not the caller's to see. */
  entryAt(caller: Caller | undefined, cursor: string): FeedEntry | undefined {
    const number = this.#numberOf(cursor);
    const found = number === undefined ? undefined : this.#entries[number - 1 - (this.#last - this.#entries.length)];
    return found && sees(caller, found.owner) ? found.entry : undefined;
  }

  /** The threads in memory that the caller may see: those that something was told of since they were opened. */
  threadsOf(caller: Caller | undefined): readonly ThreadId[] {
    return [...this.#owners].flatMap(([id, owner]) => (sees(caller, owner) ? [id] : []));
  }

  /** The last entry of a kind that the caller may see and that is what is looked for; undefined when it is no longer kept. */
  lastOf<Type extends FeedEntry["type"]>(
    caller: Caller | undefined,
    type: Type,
    isSought: (entry: Extract<FeedEntry, { type: Type }>) => boolean,
  ): Extract<FeedEntry, { type: Type }> | undefined {
    const isOfType = (entry: FeedEntry): entry is Extract<FeedEntry, { type: Type }> => entry.type === type;
    for (const { entry, owner } of this.#entries.toReversed()) if (isOfType(entry) && isSought(entry) && sees(caller, owner)) return entry;
    return undefined;
  }

  /** Whose a thread is. To be told before anything happens on it; a thread that nobody was told of is the server's own user's. */
  belongsTo(id: ThreadId, owner: Principal): void {
    this.#owners.set(id, owner);
  }

  /** It did not come to anything on that thread. */
  forget(id: ThreadId): void {
    this.#owners.delete(id);
  }

  threadOpened({ id, origin, settings: { cwd, model } }: LoadedThread): void {
    this.#add(id, { type: "threadOpened", origin, cwd, model });
  }

  turnQueued(turn: ObservedTurn): void {
    this.#add(turn.threadId, { type: "turnQueued", ...refTo(turn) });
  }

  turnBegun(turn: ObservedTurn): void {
    this.#add(turn.threadId, { type: "turnBegun", ...refTo(turn) });
  }

  questionAsked(turn: ObservedTurn, request: ApprovalRequest): void {
    this.#add(turn.threadId, { type: "questionAsked", questionId: request.id, kind: request.subject.kind, ...refTo(turn) });
  }

  questionAnswered(turn: ObservedTurn, { id, decision }: { readonly id: ApprovalId; readonly decision: ApprovalDecision }): void {
    const { kind, by, who } = decision;
    this.#add(turn.threadId, { type: "questionAnswered", questionId: id, decision: kind, by, who, ...refTo(turn) });
  }

  turnEnded(turn: ObservedTurn, { status }: TurnOutcome): void {
    this.#add(turn.threadId, { type: "turnEnded", status, ...refTo(turn) });
  }

  /** A thread that nobody uses may be changed as well, so that it is said whose it is. */
  threadChanged(id: ThreadId, { owner, ...fact }: Omit<Extract<FeedFact, { type: "threadChanged" }>, "type"> & ChangedThread): void {
    this.#add(id, { type: "threadChanged", ...fact }, owner);
  }

  threadClosed(id: ThreadId): void {
    this.#add(id, { type: "threadClosed" });
    this.#owners.delete(id);
  }

  /** Entries as they come, until the signal aborts or the feed ends. */
  async *read(caller: Caller | undefined, { after, signal }: FeedReading): AsyncGenerator<FeedEntry | FeedGap> {
    const abort = () => this.#wake();
    signal.addEventListener("abort", abort, { once: true });
    try {
      let seen = after === undefined ? this.#last : this.#numberOf(after);
      while (!signal.aborted) {
        const oldest = this.#last - this.#entries.length;
        if (seen === undefined || seen < oldest) yield { type: "gap" };
        seen = Math.max(seen ?? 0, oldest);
        for (const { entry, owner } of this.#entries.slice(seen - oldest)) {
          if (signal.aborted) return;
          if (sees(caller, owner)) yield entry;
          seen = entry.number;
        }
        if (seen < this.#last) continue;
        if (this.#ended) return;
        await this.#more.promise;
      }
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Readers get what is still to come to them, and end. */
  close(): void {
    this.#ended = true;
    this.#wake();
  }

  #add(threadId: ThreadId, fact: FeedFact, owner = this.#owners.get(threadId)): void {
    const number = ++this.#last;
    const entry: FeedEntry = { cursor: `${this.#name}-${number}`, number, at: Date.now(), threadId, ...fact };
    this.#entries.push({ entry, owner });
    if (this.#entries.length > MOST_KEPT) this.#entries.shift();
    this.#wake();
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = deferred();
  }

  /** Undefined for a cursor of another feed: this server was restarted since. */
  #numberOf(cursor: string): number | undefined {
    const number = cursor.startsWith(`${this.#name}-`) ? Number(cursor.slice(this.#name.length + 1)) : Number.NaN;
    return Number.isSafeInteger(number) && number >= 0 && number <= this.#last ? number : undefined;
  }
}

function refTo({ id, key }: ObservedTurn): TurnRef {
  return { turnId: id, turnKey: key };
}

function sees(caller: Caller | undefined, owner: Principal | undefined): boolean {
  if (!caller || hasScope(caller, "operator")) return true;
  return !caller.inside && hasScope(caller, "read") && owner === caller.principal;
}
