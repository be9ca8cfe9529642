import { type Deferred, deferred } from "../../src/lib/deferred.js";
import type { ThreadId } from "../../src/lib/ids.js";
import type { Engine, EngineThread, ThreadOpening, TurnContext } from "../../src/threads/engine.js";
import { StorageFailed } from "../../src/threads/errors.js";
import type { ThreadEvent, TurnInput } from "../../src/threads/events.js";
import type { NewThread, StoredThread, ThreadOwners, ThreadRecord, ThreadStore, WriterLease } from "../../src/threads/store.js";
import { message } from "./rollouts.js";
import { historyOf } from "./turns.js";

/** A ThreadStore in memory. */
export class MemoryStore implements ThreadStore {
  readonly records = new Map<ThreadId, MemoryRecord>();
  /** The threads that were looked for. */
  readonly sought: ThreadId[] = [];

  create({ id, settings }: NewThread): MemoryRecord {
    const record = new MemoryRecord(id, settings.cwd);
    this.records.set(id, record);
    return record;
  }

  async find(id: ThreadId): Promise<StoredThread | undefined> {
    this.sought.push(id);
    const record = this.records.get(id);
    return record && record.events.length > 0 ? { record, history: historyOf(record.events, record.cwd) } : undefined;
  }
}

/** Owners in memory; those of the threads in `broken` cannot be told. */
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
}

/** What was kept of one thread, with the faults a disk can have. */
export class MemoryRecord implements ThreadRecord {
  readonly path: string;
  readonly events: ThreadEvent[] = [];
  changedElsewhere = false;
  /** Thrown by the next lease. */
  leaseFailure: Error | undefined;
  /** How many more batches fit. */
  room = Number.POSITIVE_INFINITY;
  releaseFailure: Error | undefined;
  openLeases = 0;

  constructor(
    id: ThreadId,
    readonly cwd: string,
  ) {
    this.path = `memory/${id}`;
  }

  async lease(): Promise<WriterLease> {
    if (this.leaseFailure) throw this.leaseFailure;
    const { changedElsewhere } = this;
    this.changedElsewhere = false;
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
 * An engine in memory that does what its input says: `hold` waits to be let go, `hang` waits to be interrupted, `ignore` does not
 * even heed that, `throw` throws, `vanish` stops without an end, `leaves a command running` does that; anything else is answered.
 */
export class ObedientEngine implements Engine {
  readonly name = "scripted";
  readonly opened: ThreadOpening[] = [];
  /** What turns did, in order. */
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

  /** Lets the turn that has held longest go on. */
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
