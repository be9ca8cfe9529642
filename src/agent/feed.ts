import { randomUUID } from "node:crypto";
import type { ApprovalDecision, ApprovalId, ApprovalRequest, ApprovalSubject } from "../approvals/model.js";
import type { ThreadId, TurnId, TurnKey } from "../lib/ids.js";
import { type Deferred, deferred } from "../lib/promises.js";
import type { TurnOutcome } from "../threads/events.js";
import type { LoadedThread, ObservedTurn, ThreadObserver } from "../threads/observer.js";
import { type Caller, hasScope, type Principal } from "./caller.js";

/** The number of entries kept for readers that connect later or fall behind. */
const MOST_KEPT = 10_000;

/**
 * A fact about any thread. Events inside a turn are in the turn's own log, and the details of a question are at the approval desk.
 * Thousands of entries are kept, so each holds only ids.
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
  | ({ readonly type: "turnEnded"; readonly status: TurnOutcome["status"]; readonly ms: number } & TurnRef)
  | { readonly type: "threadChanged"; readonly change: ThreadChange; readonly name?: string | undefined }
  | { readonly type: "threadClosed" };

/** A change to a stored thread. */
export type ThreadChange = "renamed" | "archived" | "unarchived" | "removed" | "forked";

interface TurnRef {
  readonly turnId: TurnId;
  /** Unique across all turns and processes. */
  readonly turnKey: TurnKey;
}

export type FeedEntry = {
  /** Where a reader resumes. Valid for this feed only: another server's cursors have another prefix. */
  readonly cursor: string;
  /** Grows by one with each entry of the feed, whether or not the reader may see it. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly threadId: ThreadId;
} & FeedFact;

/** Marks a gap: entries that the reader may have wanted are no longer kept. The reader has to read the threads themselves. */
export interface FeedGap {
  readonly type: "gap";
}

interface KeptEntry {
  readonly entry: FeedEntry;
  readonly owner: Principal | undefined;
}

interface ChangedThread {
  readonly owner: Principal | undefined;
}

export interface FeedReading {
  /** The last entry that the reader has seen. Absent: only new entries. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * The numbered events of all threads of this process, for readers that watch more than one call: listeners, the HTTP API, the console. A
 * reader sees the threads of its principal; operators and the server's own user see all. A slow reader delays nobody. If entries it needs
 * are no longer kept, it gets a `FeedGap`.
 */
export class Feed implements ThreadObserver {
  readonly #name = randomUUID().slice(0, 8);
  readonly #entries: KeptEntry[] = [];
  /** The entries that still hold, however old they are: about open threads, running turns and open questions, by their ids. */
  readonly #inForce = new Map<ThreadId | TurnKey | ApprovalId, KeptEntry>();
  readonly #owners = new Map<ThreadId, Principal>();
  #last = 0;
  #more: Deferred<void> | undefined;
  #ended = false;

  /** The cursor before the first entry: a reader that starts there gets everything that is kept. */
  get start(): string {
    return `${this.#name}-0`;
  }

  /** The cursor of the last entry: a reader that starts there gets only new entries. */
  get now(): string {
    return `${this.#name}-${this.#last}`;
  }

  /** The entry at a cursor; undefined if it is no longer kept or the caller may not see it. */
  entryAt(caller: Caller | undefined, cursor: string): FeedEntry | undefined {
    const number = this.#numberOf(cursor);
    const kept = number === undefined ? undefined : this.#entries[number - 1 - (this.#last - this.#entries.length)];
    const found = kept ?? [...this.#inForce.values()].find(({ entry }) => entry.number === number);
    return found && sees(caller, found.owner) ? found.entry : undefined;
  }

  /** The threads in memory that the caller may see. */
  threadsOf(caller: Caller | undefined): readonly ThreadId[] {
    return [...this.#owners].flatMap(([id, owner]) => (sees(caller, owner) ? [id] : []));
  }

  /** The last entry of a type that matches and that the caller may see; undefined if it is no longer kept. One that still holds is. */
  lastOf<Type extends FeedEntry["type"]>(
    caller: Caller | undefined,
    type: Type,
    isSought: (entry: Extract<FeedEntry, { type: Type }>) => boolean,
  ): Extract<FeedEntry, { type: Type }> | undefined {
    const isOfType = (entry: FeedEntry): entry is Extract<FeedEntry, { type: Type }> => entry.type === type;
    for (const kept of [this.#entries, [...this.#inForce.values()]])
      for (const { entry, owner } of kept.toReversed()) if (isOfType(entry) && isSought(entry) && sees(caller, owner)) return entry;
    return undefined;
  }

  /**
   * Sets the owner of a thread. Must be called before the first event of the thread. A thread without an owner belongs to the server's own
   * user.
   */
  belongsTo(id: ThreadId, owner: Principal): void {
    this.#owners.set(id, owner);
  }

  /** The owner of a thread in memory. */
  ownerOf(id: ThreadId): Principal | undefined {
    return this.#owners.get(id);
  }

  /** Opening the thread failed. */
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
    this.#add(turn.threadId, { type: "turnEnded", status, ms: turn.ranMs, ...refTo(turn) });
  }

  /** The owner is passed in, because the changed thread need not be loaded. */
  threadChanged(id: ThreadId, { owner, ...fact }: Omit<Extract<FeedFact, { type: "threadChanged" }>, "type"> & ChangedThread): void {
    this.#add(id, { type: "threadChanged", ...fact }, owner);
  }

  threadClosed(id: ThreadId): void {
    this.#add(id, { type: "threadClosed" });
    this.#owners.delete(id);
  }

  /** Yields entries as they arrive, until the signal aborts or the feed closes. */
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
        this.#more ??= deferred<void>();
        await this.#more.promise;
      }
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Readers still get the entries so far, and then end. */
  close(): void {
    this.#ended = true;
    this.#wake();
  }

  #add(threadId: ThreadId, fact: FeedFact, owner = this.#owners.get(threadId)): void {
    const number = ++this.#last;
    const entry: FeedEntry = { cursor: `${this.#name}-${number}`, number, at: Date.now(), threadId, ...fact };
    const kept = { entry, owner };
    this.#entries.push(kept);
    this.#noteInForce(kept);
    if (this.#entries.length > MOST_KEPT) this.#entries.shift();
    this.#wake();
  }

  #noteInForce(kept: KeptEntry): void {
    const { entry } = kept;
    switch (entry.type) {
      case "threadOpened":
        this.#inForce.set(entry.threadId, kept);
        break;
      case "turnBegun":
        this.#inForce.set(entry.turnKey, kept);
        break;
      case "questionAsked":
        this.#inForce.set(entry.questionId, kept);
        break;
      case "questionAnswered":
        this.#inForce.delete(entry.questionId);
        break;
      case "turnEnded":
        for (const [id, { entry: other }] of this.#inForce)
          if ("turnKey" in other && other.turnKey === entry.turnKey) this.#inForce.delete(id);
        break;
      case "threadClosed":
        this.#inForce.delete(entry.threadId);
        break;
      case "threadChanged":
      case "turnQueued":
    }
  }

  #wake(): void {
    this.#more?.resolve();
    this.#more = undefined;
  }

  /** Undefined for a cursor of another feed, such as one from before a restart. */
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
