import type { ApprovalDesk } from "../approvals/desk.js";
import { describe } from "../lib/errors.js";
import { newThreadId, type ThreadId, type TurnId } from "../lib/ids.js";
import { Tasks } from "../lib/tasks.js";
import type { Engine, EngineThread } from "./engine.js";
import { ThreadNotFound } from "./errors.js";
import type { ThreadSettings, TurnInput } from "./model.js";
import type { StoredSettings, StoredThread, ThreadStore } from "./store.js";
import { Thread, type ThreadParts } from "./thread.js";
import type { Turn } from "./turn.js";

/** How often idle threads are looked for: about as often as they may be found, within reason. */
const SWEEP_MS = { least: 1_000, most: 60_000 };

export interface RegistryOptions {
  readonly engine: Engine;
  readonly store: ThreadStore;
  /** Where the engine's questions wait for an answer. */
  readonly desk: ApprovalDesk;
  /** The settings a thread of an earlier process goes on with. */
  readonly settingsOf: (stored: StoredSettings) => ThreadSettings;
  /** How long a thread stays in memory after its last turn. */
  readonly idleMs: number;
  /** For people who look at the server's own output. */
  readonly report?: (line: string) => void;
}

/** The threads this process has loaded. One that is not loaded comes back from the store when it is named. */
export class ThreadRegistry {
  readonly #loaded = new Map<ThreadId, Thread>();
  readonly #loading = new Map<ThreadId, Promise<Thread>>();
  /** Threads of the engine that are being ended. */
  readonly #retired = new Tasks((name, error) => this.options.report?.(`${name}: ${describe(error)}`));
  readonly #sweep: NodeJS.Timeout;

  constructor(private readonly options: RegistryOptions) {
    this.#sweep = setInterval(() => this.unloadIdle(Date.now()), Math.min(Math.max(options.idleMs, SWEEP_MS.least), SWEEP_MS.most));
    this.#sweep.unref();
  }

  /** Opens a thread and begins its first turn. */
  async start(settings: ThreadSettings, input: TurnInput, turnId: TurnId): Promise<Turn> {
    const { engine, store } = this.options;
    const id = newThreadId();
    const engineThread = await engine.openThread({ id, settings });
    const record = store.create({ id, settings, engine: engine.name });
    return this.#keep({ id, settings, record, engineThread }).begin(input, turnId);
  }

  /** A further turn on a thread, loaded or stored. Throws `ThreadNotFound`. */
  async reply(id: ThreadId, input: TurnInput): Promise<Turn> {
    const thread = this.#loaded.get(id) ?? (await this.#load(id));
    return thread.reply(input);
  }

  /** Takes threads out of memory whose last turn is long past. */
  unloadIdle(now: number): void {
    for (const [id, { idleSince }] of this.#loaded) if (idleSince !== undefined && now - idleSince >= this.options.idleMs) this.#unload(id);
  }

  get loadedCount(): number {
    return this.#loaded.size;
  }

  interruptAll(): void {
    for (const thread of this.#loaded.values()) thread.interrupt();
  }

  /** Resolves when no turn runs. */
  async settle(): Promise<void> {
    await Promise.all([...this.#loaded.values()].map((thread) => thread.settle()));
  }

  /** Takes all threads out of memory, and comes back when what they kept running is gone. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    for (const id of this.#loaded.keys()) this.#unload(id);
    await this.#retired.settle();
  }

  #unload(id: ThreadId): void {
    this.#loaded.get(id)?.close();
    this.#loaded.delete(id);
  }

  #keep(parts: Pick<ThreadParts, "id" | "settings" | "record" | "engineThread">): Thread {
    const retire = (engineThread: EngineThread) => this.#retired.start("retired thread", async () => engineThread.close?.());
    const reload = () => this.#reopen(parts.id, parts.settings);
    const thread = new Thread({ ...parts, desk: this.options.desk, retire, reload });
    this.#loaded.set(parts.id, thread);
    return thread;
  }

  /** Two replies that name the same stored thread at once must not load it twice. */
  #load(id: ThreadId): Promise<Thread> {
    const running = this.#loading.get(id);
    if (running) return running;
    const loading = this.#open(id).finally(() => this.#loading.delete(id));
    this.#loading.set(id, loading);
    return loading;
  }

  async #open(id: ThreadId): Promise<Thread> {
    const { record, history } = await this.#stored(id);
    const settings = this.options.settingsOf(history.settings);
    const engineThread = await this.options.engine.openThread({ id, settings, history });
    return this.#keep({ id, settings, record, engineThread });
  }

  async #reopen(id: ThreadId, settings: ThreadSettings): Promise<EngineThread> {
    const { history } = await this.#stored(id);
    return this.options.engine.openThread({ id, settings, history });
  }

  async #stored(id: ThreadId): Promise<StoredThread> {
    const stored = await this.options.store.find(id);
    if (!stored) throw new ThreadNotFound(id);
    return stored;
  }
}
