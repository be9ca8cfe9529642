import { eventMsgs } from "../../../src/codexwire/eventMsg.js";
import { newThreadId, type ThreadId, threadIdOf, turnIdOf } from "../../../src/lib/ids.js";
import { type Deferred, deferred } from "../../../src/lib/promises.js";
import type { Engine, EngineThread, ThreadOpening, TurnContext } from "../../../src/threads/engine.js";
import { InvalidCursor, StorageFailed, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "../../../src/threads/errors.js";
import type { ThreadEvent, TurnInput } from "../../../src/threads/events.js";
import type { NamedSession, NamedSessionStore } from "../../../src/threads/namedSession.js";
import type {
  NewThread,
  ShownEvent,
  StoredMoment,
  StoredStory,
  StoredThread,
  ThreadOwners,
  ThreadPage,
  ThreadQuery,
  ThreadRecord,
  ThreadStore,
  ThreadSummary,
  WriterLease,
} from "../../../src/threads/store.js";
import { message } from "../threads/rollouts.js";
import { historyOf } from "../threads/turns.js";

/** A ThreadStore in memory. A second one on the same records acts as another node. */
export class MemoryStore implements ThreadStore {
  /** The ids of all look-ups. */
  readonly sought: ThreadId[] = [];

  constructor(readonly records = new Map<ThreadId, MemoryRecord>()) {}

  create({ id, settings }: NewThread): MemoryRecord {
    const record = new MemoryRecord(id, settings.cwd);
    this.records.set(id, record);
    return record;
  }

  async find(id: ThreadId): Promise<StoredThread | undefined> {
    this.sought.push(id);
    const record = this.records.get(id);
    if (!record || record.events.length === 0) return undefined;
    return { record: record.fromHere(), history: historyOf(record.events, record.cwd) };
  }

  async story(id: ThreadId): Promise<StoredStory | undefined> {
    const record = this.records.get(id);
    if (!record || record.events.length === 0) return undefined;
    const { events, archived } = record;
    async function* moments(): AsyncGenerator<StoredMoment> {
      for (const event of events) yield* momentsOf(event);
    }
    return { title: record.title, isArchived: archived, moments: moments() };
  }

  async list({ limit, cursor, archived = false, cwd, search }: ThreadQuery): Promise<ThreadPage> {
    if (cursor !== undefined && !this.records.has(threadIdOf(cursor))) throw new InvalidCursor();
    const wanted = [...this.records.values()]
      .filter((record) => record.words !== undefined && record.archived === archived && (cwd === undefined || record.cwd === cwd))
      .filter(({ words = "", title = "" }) => `${title}\n${words}`.toLowerCase().includes((search ?? "").toLowerCase()))
      .filter(({ id }) => cursor === undefined || id < cursor)
      .sort((one, other) => (one.id < other.id ? 1 : -1));
    const shown = wanted.slice(0, limit);
    const last = shown.at(-1);
    return { threads: shown.map(summaryOf), ...(last && wanted.length > limit && { nextCursor: last.id }) };
  }

  async fork(id: ThreadId): Promise<ThreadId> {
    const source = this.#free(id);
    const fork = new MemoryRecord(newThreadId(), source.cwd);
    fork.events.push(...source.events);
    this.records.set(fork.id, fork);
    return fork.id;
  }

  async archive(id: ThreadId): Promise<void> {
    this.#free(id).archived = true;
  }

  async unarchive(id: ThreadId): Promise<void> {
    this.#free(id).archived = false;
  }

  async rename(id: ThreadId, title: string): Promise<void> {
    this.#there(id).title = title;
  }

  async remove(id: ThreadId): Promise<void> {
    this.#free(id);
    this.records.delete(id);
  }

  async pathsOf(ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>> {
    return new Map(
      ids.flatMap((id) => [this.records.get(id)].flatMap((record) => (record?.events.length ? [[id, record.path] as const] : []))),
    );
  }

  async shownOn(id: ThreadId): Promise<readonly ShownEvent[]> {
    const { events } = this.#there(id);
    return events.flatMap((event) => eventMsgs(event, { threadId: id, turnId: turnIdOf("") }));
  }

  async checkIdle(id: ThreadId): Promise<void> {
    if ((this.records.get(id)?.openLeases ?? 0) > 0) throw new ThreadBusyElsewhere(id, "another node");
  }

  async settle(): Promise<void> {}

  #there(id: ThreadId): MemoryRecord {
    const record = this.records.get(id);
    if (!record || record.events.length === 0) throw new ThreadNotFound(id);
    return record;
  }

  #free(id: ThreadId): MemoryRecord {
    const record = this.#there(id);
    if (record.openLeases > 0) throw new ThreadInUse(id);
    return record;
  }
}

function momentsOf(event: ThreadEvent): StoredMoment[] {
  switch (event.type) {
    case "rawItem":
    case "unseenItem":
    case "contextItem":
      return [{ at: undefined, type: "item", item: event.item }];
    case "itemCompleted":
      return event.item.kind === "userMessage" ? [{ at: undefined, type: "userSpoke", text: event.item.text }] : [];
    case "turnAborted":
      return [{ at: undefined, type: "interrupted" }];
    default:
      return [];
  }
}

function summaryOf({ id, words = "", cwd, title }: MemoryRecord): ThreadSummary {
  return { id, preview: words, cwd, startedAt: "then", lastUsedAt: "now", ...(title !== undefined && { name: title }) };
}

/** Owners in memory; reading those of the threads in `broken` fails. */
export class MemoryOwners implements ThreadOwners {
  readonly kept = new Map<ThreadId, string>();
  readonly broken = new Set<ThreadId>();

  async keep(id: ThreadId, owner: string): Promise<void> {
    if (this.broken.has(id)) throw new StorageFailed("no space left on device");
    this.kept.set(id, owner);
  }

  async ownerOf(id: ThreadId): Promise<string | undefined> {
    if (this.broken.has(id)) throw new StorageFailed("the file is torn");
    return this.kept.get(id);
  }

  async owned(): Promise<ReadonlySet<ThreadId>> {
    return new Set([...this.kept.keys(), ...this.broken]);
  }
}

/** Named sessions in memory. */
export class MemorySessionStore implements NamedSessionStore {
  readonly kept = new Map<string, NamedSession>();

  async find(owner: string | undefined, id: string): Promise<NamedSession | undefined> {
    return this.kept.get(keyOf(owner, id));
  }

  async keep(owner: string | undefined, session: NamedSession): Promise<void> {
    this.kept.set(keyOf(owner, session.id), session);
  }

  async drop(owner: string | undefined, id: string): Promise<void> {
    this.kept.delete(keyOf(owner, id));
  }

  async list(owner: string | undefined): Promise<readonly NamedSession[]> {
    return [...this.kept].flatMap(([key, session]) => (key === keyOf(owner, session.id) ? [session] : []));
  }
}

function keyOf(owner: string | undefined, id: string): string {
  return JSON.stringify([owner ?? null, id]);
}

/** The record of one thread, with the faults of a disk. */
export class MemoryRecord implements ThreadRecord {
  readonly path: string;
  readonly events: ThreadEvent[] = [];
  archived = false;
  title: string | undefined;
  changedElsewhere = false;
  /** Thrown by the next lease. */
  leaseFailure: Error | undefined;
  /** How many more batches can be written. */
  room = Number.POSITIVE_INFINITY;
  releaseFailure: Error | undefined;
  openLeases = 0;
  /** The number of events at the end of the creator's last lease. */
  #known = 0;

  constructor(
    readonly id: ThreadId,
    readonly cwd: string,
  ) {
    this.path = `memory/${id}`;
  }

  /** The user's first message. */
  get words(): string | undefined {
    for (const event of this.events) if (event.type === "itemCompleted" && event.item.kind === "userMessage") return event.item.text;
    return undefined;
  }

  /** The same record for another node, which has read all of it. */
  fromHere(): ThreadRecord {
    let known = this.events.length;
    return {
      path: this.path,
      lease: async () => {
        const lease = this.#lease(known !== this.events.length);
        return {
          ...lease,
          release: () => {
            known = this.events.length;
            lease.release();
          },
        };
      },
    };
  }

  async lease(): Promise<WriterLease> {
    if (this.leaseFailure) throw this.leaseFailure;
    const changedElsewhere = this.changedElsewhere || this.#known !== this.events.length;
    this.changedElsewhere = false;
    const lease = this.#lease(changedElsewhere);
    return {
      ...lease,
      release: () => {
        this.#known = this.events.length;
        lease.release();
      },
    };
  }

  #lease(changedElsewhere: boolean): WriterLease {
    if (this.openLeases > 0) throw new ThreadBusyElsewhere(this.id, "another store");
    this.openLeases++;
    let held = true;
    return {
      changedElsewhere,
      append: (events) => {
        if (!held) throw new StorageFailed("the lease was released");
        if (this.room-- <= 0) throw new StorageFailed("no space left on device");
        this.events.push(...events);
      },
      sync: async () => {},
      release: () => {
        if (held) this.openLeases--;
        held = false;
        if (this.releaseFailure) throw this.releaseFailure;
      },
    };
  }
}

/**
 * An engine in memory controlled by its input: `hold` waits for its release, `hang` waits for an interrupt, `ignore` ignores
 * interrupts, `throw` throws, `vanish` stops without an end, `leaves a command running` does that; any other input is answered.
 */
export class ObedientEngine implements Engine {
  readonly name = "scripted";
  readonly opened: ThreadOpening[] = [];
  /** The actions of turns, in order. */
  readonly story: string[] = [];
  readonly #held: Deferred<void>[] = [];

  async openThread(opening: ThreadOpening): Promise<EngineThread> {
    this.opened.push(opening);
    const thread = {
      opening: [{ type: "contextItem" as const, item: message("developer", "context") }],
      keepsRunning: false,
      run: (input: TurnInput, ctx: TurnContext) => {
        thread.keepsRunning = input.text === "leaves a command running";
        return this.#run(input, ctx);
      },
    };
    return thread;
  }

  /** Releases the turn that has waited longest. */
  letGo(): void {
    const held = this.#held.shift();
    if (!held) throw new Error("no turn is held");
    held.resolve();
  }

  async *#run({ text }: TurnInput, { signal }: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
    this.story.push(`${text} begins`);
    try {
      yield beginning(text);
      if (text === "throw") throw new TypeError("the engine broke");
      if (text === "vanish") return;
      if (text === "hold") await this.#hold();
      if (text === "ignore") await new Promise<never>(() => {});
      if (text === "hang") await untilAborted(signal);
      yield signal.aborted ? [{ type: "turnAborted", reason: "interrupted" }] : answer(text);
    } finally {
      this.story.push(`${text} ends`);
    }
  }

  #hold(): Promise<void> {
    const gate = deferred<void>();
    this.#held.push(gate);
    return gate.promise;
  }
}

export function beginning(text: string): ThreadEvent[] {
  return [
    { type: "turnStarted", contextWindow: null },
    { type: "rawItem", item: message("user", text) },
  ];
}

export function answer(text: string): ThreadEvent[] {
  return [
    { type: "rawItem", item: message("assistant", `re: ${text}`) },
    { type: "turnCompleted", lastMessage: `re: ${text}` },
  ];
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
