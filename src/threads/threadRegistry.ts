// Long because opening, loading, unloading and archiving together decide which threads are in memory.
import type { ApprovalDesk } from "../approvals/desk.js";
import { describe } from "../lib/errors.js";
import { newThreadId, type ThreadId, type TurnId } from "../lib/ids.js";
import { Tasks } from "../lib/promises.js";
import type { Engine, EngineThread, ThreadOpening } from "./engine.js";
import { NothingToSteer, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "./errors.js";
import type { EventLogs, LogReader, TurnAddress } from "./eventLog.js";
import type { ThreadEvent } from "./events.js";
import type { TurnLimits } from "./limits.js";
import { MemoryEventLogs, TURN_LOG } from "./memoryEventLog.js";
import type { LoadedThread, ThreadObserver } from "./observer.js";
import type { ThreadSettings } from "./settings.js";
import {
  NOTHING_YET,
  type ShownEvent,
  type StoredSettings,
  type StoredStory,
  type StoredThread,
  type ThreadCatalog,
  type ThreadHistory,
  type ThreadPage,
  type ThreadQuery,
  type ThreadStore,
} from "./store.js";
import { type Reloading, Thread, type ThreadParts } from "./thread.js";
import type { Turn, TurnRequest } from "./turn.js";

/** The interval between searches for idle threads follows the idle limit, within these bounds. */
const SWEEP_MS = { least: 1_000, most: 60_000 };

/** Above this number, unused threads are unloaded and read from their files again on their next use. */
const MOST_IN_MEMORY = 128;

export interface ThreadRegistryOptions {
  readonly engine: Engine;
  readonly store: ThreadStore;
  /** Where the engine's questions wait for an answer. */
  readonly desk: ApprovalDesk;
  /** The settings for continuing a thread of an earlier process. */
  readonly settingsOf: (stored: StoredSettings) => ThreadSettings;
  /** Called with the settings of a thread that is opened, and of each turn before it runs; not called for settings that the limits refuse. */
  readonly inForce?: ((settings: ThreadSettings) => void) | undefined;
  /** How long a thread stays in memory after its last turn. */
  readonly idleMs: number;
  readonly observer?: ThreadObserver;
  /** Where others find the events of turns. Default: the memory of this process. */
  readonly logs?: EventLogs<ThreadEvent>;
  /** Writes a line to the server's own output. */
  readonly report?: (line: string) => void;
}

export interface NewThreadRequest {
  readonly limits?: TurnLimits | undefined;
  /** Called with the thread's id before anything of the thread is visible; if it fails, the thread is not created. */
  readonly opened?: ((id: ThreadId) => Promise<void>) | undefined;
}

export interface LoadRequest {
  readonly limits?: TurnLimits | undefined;
  /** Computes the new settings from the current ones. */
  readonly settingsFor?: ((current: ThreadSettings) => ThreadSettings) | undefined;
}

export interface FirstTurnRequest extends TurnRequest, NewThreadRequest {}

/** A read-only view of a thread in memory. */
export type OpenThread = Pick<Thread, "id" | "settings" | "recordPath">;

/** The threads loaded in this process. A thread that is not loaded is read from the store when it is named. */
export class ThreadRegistry {
  readonly #options: ThreadRegistryOptions;
  /** In order of use, the most recent last. */
  readonly #loaded = new Map<ThreadId, Thread>();
  readonly #loading = new Map<ThreadId, Promise<Thread>>();
  /** Threads that are being archived or removed. */
  readonly #leaving = new Set<ThreadId>();
  /** Engine threads that are being closed. */
  readonly #retired = new Tasks((name, error) => this.#options.report?.(`${name}: ${describe(error)}`));
  readonly #observer: ThreadObserver | undefined;
  readonly #logs: EventLogs<ThreadEvent>;
  readonly #sweep: NodeJS.Timeout;

  constructor(options: ThreadRegistryOptions) {
    this.#options = options;
    this.#logs = options.logs ?? new MemoryEventLogs(TURN_LOG);
    this.#observer = options.observer && guardedObserver(options.observer, options.report);
    this.#sweep = setInterval(() => this.unloadIdle(Date.now()), Math.min(Math.max(options.idleMs, SWEEP_MS.least), SWEEP_MS.most));
    this.#sweep.unref();
  }

  /** Opens a thread and begins its first turn. */
  async start(settings: ThreadSettings, input: FirstTurnRequest, turnId: TurnId): Promise<Turn> {
    return this.#openNew(settings, input, (thread) => thread.begin(input, turnId));
  }

  /** Opens a thread without a turn, and records it. */
  async open(settings: ThreadSettings, request: NewThreadRequest): Promise<OpenThread> {
    const thread = await this.#openNew(settings, request, (opened) => opened);
    try {
      await thread.introduce();
    } catch (error) {
      this.#unload(thread.id);
      throw error;
    }
    return thread;
  }

  /** Loads a stored thread, if it is not in memory, and changes its settings. Throws `ThreadNotFound`, `ThreadInUse`. */
  async load(id: ThreadId, { limits, settingsFor }: LoadRequest): Promise<OpenThread> {
    if (this.#leaving.has(id)) throw new ThreadInUse(id);
    const thread = this.#loaded.get(id) ?? (await this.#load(id, limits));
    const settings = settingsFor?.(thread.settings);
    limits?.check(settings ?? thread.settings);
    if (settings) thread.configure(settings);
    return thread;
  }

  /** The locations of threads' records, without unknown threads. */
  async pathsOf(ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>> {
    return this.#options.store.pathsOf(ids);
  }

  /** The recorded events of a thread. Throws `ThreadNotFound`. */
  async shownOn(id: ThreadId): Promise<readonly ShownEvent[]> {
    return this.#options.store.shownOn(id);
  }

  /** `use` is called in the same tick in which the thread is kept. Later, a thread without a turn could already have been unloaded to make room. */
  async #openNew<Result>(settings: ThreadSettings, request: NewThreadRequest, use: (thread: Thread) => Result): Promise<Result> {
    const { engine, store } = this.#options;
    const { limits, opened } = request;
    const opening = { id: newThreadId(), settings };
    // Opening a thread already reads files in its folder and starts servers there.
    limits?.check(settings);
    this.#options.inForce?.(settings);
    const reach = limits?.reach;
    const engineThread = await engine.openThread({ ...opening, reach });
    const kept = engineThread.kept ?? {
      ...inForce(opening, engineThread),
      record: store.create({ ...opening, engine: engine.name, reach }),
    };
    try {
      limits?.check(kept.settings);
      await opened?.(kept.id);
    } catch (error) {
      this.#retire(engineThread);
      throw error;
    }
    return use(this.#keep({ ...kept, engineThread }, "new"));
  }

  /** A further turn on a thread, loaded or stored. Throws `ThreadNotFound`. */
  async reply(id: ThreadId, input: TurnRequest): Promise<Turn> {
    if (this.#leaving.has(id)) throw new ThreadInUse(id);
    const thread = this.#loaded.get(id) ?? (await this.#load(id, input.limits));
    if (this.#leaving.has(id)) throw new ThreadInUse(id);
    input.limits?.check(input.settings ?? thread.settings);
    const turn = thread.reply(input);
    this.#loaded.delete(id);
    this.#loaded.set(id, thread);
    return turn;
  }

  /** Adds text to a running turn. Throws `NothingToSteer`. */
  async steer(id: ThreadId, text: string): Promise<void> {
    const thread = this.#loaded.get(id);
    if (thread?.isInUse) return thread.steer(text);
    await this.#options.store.checkIdle(id);
    await this.checkKnown(id);
    throw new NothingToSteer(id);
  }

  /** Throws `ThreadNotFound` for a thread that is neither in memory nor stored. Does not read its record. */
  async checkKnown(id: ThreadId): Promise<void> {
    if (!this.#loaded.has(id) && !(await this.pathsOf([id])).has(id)) throw new ThreadNotFound(id);
  }

  /** The stored threads, in memory or not, newest first. */
  async list(query: ThreadQuery): Promise<ThreadPage> {
    return (await this.#catalog()).list(query);
  }

  /** Creates a new thread with the same history, if its settings are within the limits. Throws `ThreadNotFound`. */
  async fork(id: ThreadId, limits?: TurnLimits): Promise<ThreadId> {
    // To fork a thread, an engine may open it in its folder and with its servers.
    const settings = await this.settingsOf(id);
    limits?.check(settings);
    this.#options.inForce?.(settings);
    return (await this.#catalog()).fork(id);
  }

  /** Removes a thread from the list and from memory. Throws `ThreadNotFound`, or `ThreadInUse` while a turn runs or waits on it. */
  archive(id: ThreadId): Promise<void> {
    return this.#putAway(id, async () => (await this.#catalog()).archive(id));
  }

  async unarchive(id: ThreadId): Promise<void> {
    await (await this.#catalog()).unarchive(id);
  }

  /** Sets a thread's title. A turn may run meanwhile. Throws `ThreadNotFound`. */
  async rename(id: ThreadId, title: string): Promise<void> {
    await (await this.#catalog()).rename(id, title);
  }

  /** Removes a thread from memory and from disk. Throws `ThreadNotFound`, or `ThreadInUse` while a turn runs or waits on it. */
  remove(id: ThreadId): Promise<void> {
    return this.#putAway(id, async () => (await this.#catalog()).remove(id));
  }

  /** The settings a turn on the thread would run with. Throws `ThreadNotFound`. */
  async settingsOf(id: ThreadId): Promise<ThreadSettings> {
    return this.#loaded.get(id)?.settings ?? this.#options.settingsOf((await this.#stored(id)).history.settings);
  }

  /** The stored state of a thread. Throws `ThreadNotFound`. */
  async history(id: ThreadId): Promise<ThreadHistory> {
    return (await this.#stored(id)).history;
  }

  /** The same for a thread without a running turn. Also throws `ThreadBusyElsewhere` while another process runs a turn on it. */
  async historyAtRest(id: ThreadId): Promise<ThreadHistory> {
    await this.#options.store.checkIdle(id);
    return this.history(id);
  }

  /** Whether another process runs a turn on a thread. This process must not run a turn on it. */
  async isBusyElsewhere(id: ThreadId): Promise<boolean> {
    try {
      await this.#options.store.checkIdle(id);
      return false;
    } catch (error) {
      return error instanceof ThreadBusyElsewhere;
    }
  }

  /** The recorded events of a thread in a readable form, oldest first. Throws `ThreadNotFound`. */
  async story(id: ThreadId): Promise<StoredStory> {
    const story = await this.#options.store.story(id);
    if (story) return story;
    // Nothing is written before its first turn has begun.
    if (this.#loaded.has(id)) return NOTHING_YET;
    throw new ThreadNotFound(id);
  }

  /** Unloads threads whose last turn ended long ago. */
  unloadIdle(now: number): void {
    for (const [id, { idleSince }] of this.#loaded)
      if (idleSince !== undefined && now - idleSince >= this.#options.idleMs) this.#unload(id);
  }

  get loadedCount(): number {
    return this.#loaded.size;
  }

  /** The events of a running or recently ended turn, on any node; undefined when only the thread's history has them. */
  events(turn: TurnAddress): Promise<LogReader<ThreadEvent> | undefined> {
    return this.#logs.find(turn);
  }

  /** A thread in memory; also undefined for a stored thread that is not loaded. */
  find(id: ThreadId): Thread | undefined {
    return this.#loaded.get(id);
  }

  /** The running turn of a thread, then the turns queued behind it. */
  runningTurns(id: ThreadId): readonly Turn[] {
    return this.#loaded.get(id)?.turns ?? [];
  }

  /** Interrupts the running turn of a thread and the turns queued behind it. False when this process has none. */
  interrupt(id: ThreadId, why?: string): boolean {
    const thread = this.#loaded.get(id);
    if (!thread?.isInUse) return false;
    thread.interrupt(why);
    return true;
  }

  interruptAll(why?: string): void {
    for (const thread of this.#loaded.values()) thread.interrupt(why);
  }

  /** Resolves when no turn runs. */
  async settle(): Promise<void> {
    await Promise.all([...this.#loaded.values()].map((thread) => thread.settle()));
  }

  /** Unloads all threads. Resolves when everything they kept running has stopped. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    for (const id of this.#loaded.keys()) this.#unload(id);
    await this.#retired.settle();
  }

  /** Unloads a stored thread and runs `work` while no one can use it. Throws `ThreadInUse` while a turn runs or waits. */
  async #putAway(id: ThreadId, work: () => Promise<void>): Promise<void> {
    const thread = this.#loaded.get(id);
    if (this.#loading.has(id) || this.#leaving.has(id) || thread?.isInUse) throw new ThreadInUse(id);
    this.#leaving.add(id);
    try {
      await thread?.settle();
      if (thread) this.#unload(id);
      await this.#retired.settle();
      await work();
    } finally {
      this.#leaving.delete(id);
    }
  }

  /** Unused threads take a bounded share of memory, however many are used in a day. */
  #makeRoom(): void {
    for (const [id, thread] of this.#loaded) {
      if (this.#loaded.size < MOST_IN_MEMORY) return;
      if (thread.idleSince !== undefined && !thread.keepsRunning) this.#unload(id);
    }
  }

  #unload(id: ThreadId): void {
    this.#loaded.get(id)?.close();
    this.#loaded.delete(id);
  }

  #keep(parts: Pick<ThreadParts, "id" | "settings" | "record" | "engineThread">, origin: LoadedThread["origin"]): Thread {
    const retire = (engineThread: EngineThread) => this.#retire(engineThread);
    const reload = (how: Reloading) => this.#reopen(parts.id, how);
    const { desk, inForce: told } = this.#options;
    const thread = new Thread({ ...parts, desk, inForce: told, observer: this.#observer, logs: this.#logs, retire, reload });
    this.#makeRoom();
    this.#loaded.set(parts.id, thread);
    this.#observer?.threadOpened({ id: parts.id, settings: parts.settings, origin });
    return thread;
  }

  #retire(engineThread: EngineThread): void {
    this.#retired.start("retired thread", async () => engineThread.close?.());
  }

  /** Two simultaneous replies to the same stored thread must not load it twice. Their limits are checked separately. */
  async #load(id: ThreadId, limits: TurnLimits | undefined): Promise<Thread> {
    const running = this.#loading.get(id);
    if (running) {
      const thread = await running.catch((error: unknown) => {
        if (error instanceof ThreadNotFound) throw error;
      });
      return thread ?? this.#loaded.get(id) ?? this.#load(id, limits);
    }
    const loading = this.#open(id, limits).finally(() => this.#loading.delete(id));
    this.#loading.set(id, loading);
    return loading;
  }

  async #open(id: ThreadId, limits: TurnLimits | undefined): Promise<Thread> {
    const found = await this.#stored(id);
    const settings = this.#options.settingsOf(found.history.settings);
    limits?.check(settings);
    this.#options.inForce?.(settings);
    const { record, history } = found.isArchived ? await this.#backInTheList(id) : found;
    const engineThread = await this.#options.engine.openThread({ id, settings, history, reach: limits?.reach });
    return this.#keep({ ...inForce({ id, settings }, engineThread), record, ...engineThread.kept, engineThread }, "stored");
  }

  /** Replying to an archived thread moves it back to the list, which changes its file's path. */
  async #backInTheList(id: ThreadId): Promise<StoredThread> {
    await this.unarchive(id);
    return this.#stored(id);
  }

  async #reopen(id: ThreadId, { isReconfigured, ...how }: Reloading): Promise<EngineThread> {
    const { history } = await this.#stored(id);
    return this.#options.engine.openThread({ id, history, ...how, ...(isReconfigured && { isReconfigured }) });
  }

  async #catalog(): Promise<ThreadCatalog> {
    const { engine, store } = this.#options;
    return (await engine.catalog?.()) ?? store;
  }

  async #stored(id: ThreadId): Promise<StoredThread> {
    const stored = await this.#options.store.find(id);
    if (!stored) throw new ThreadNotFound(id);
    return stored;
  }
}

function inForce<Opening extends Pick<ThreadOpening, "settings">>(
  opening: Opening,
  { settings = opening.settings }: EngineThread,
): Opening {
  return { ...opening, settings };
}

/** Wraps an observer so that its exceptions are reported and do not affect the threads. */
function guardedObserver(observer: ThreadObserver, report: ((line: string) => void) | undefined): ThreadObserver {
  const guard = (fact: string, tell: () => void) => {
    try {
      tell();
    } catch (error) {
      report?.(`observer of threads failed on ${fact}: ${describe(error)}`);
    }
  };
  return {
    threadOpened: (thread) => guard("threadOpened", () => observer.threadOpened(thread)),
    turnQueued: (turn) => guard("turnQueued", () => observer.turnQueued(turn)),
    turnBegun: (turn) => guard("turnBegun", () => observer.turnBegun(turn)),
    questionAsked: (turn, request) => guard("questionAsked", () => observer.questionAsked(turn, request)),
    questionAnswered: (turn, answer) => guard("questionAnswered", () => observer.questionAnswered(turn, answer)),
    turnEnded: (turn, outcome) => guard("turnEnded", () => observer.turnEnded(turn, outcome)),
    threadClosed: (id) => guard("threadClosed", () => observer.threadClosed(id)),
  };
}
