import { invalidParams } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import type { Fields } from "../../lib/fields.js";
import { Tasks } from "../../lib/promises.js";
import { type Release, Shares } from "../../lib/shares.js";
import { newTaskId, type StoredTask, type TaskStore } from "../../tasks/taskStore.js";
import { resultOfWork, type Work, type WorkState } from "./followedTurn.js";
import { endOf, storedForm, taskForm, taskHandle } from "./taskForm.js";

/** Maximum number of tasks in memory: running ones, and those whose end could not be stored. */
const MAX_LIVE_TASKS = 1_024;

export interface TaskRegistryOptions {
  readonly store: TaskStore;
  /** Called on every change of a task, with its current form. */
  readonly changed: (id: string, form: Fields) => void;
  /** Writes to the server's own output. */
  readonly report: (line: string) => void;
}

export interface Adoption extends Pick<StoredTask, "owner" | "ifLost"> {
  /** Work that ends within this time returns its result instead of a task. */
  readonly inlineMs: number;
  /** Aborts when the call is cancelled. Has no effect once the handle was returned. */
  readonly signal: AbortSignal;
}

interface LiveTask {
  stored: StoredTask;
  /** The state shown to clients. An end is shown only once it is stored, so that no client sees an end that a restart would undo. */
  shown: WorkState;
  readonly work: Work;
  /** Releases its slot in memory. */
  readonly leave: Release;
}

/** The tasks of this server: work that continues without its client and is polled by id. */
export class TaskRegistry {
  readonly #live = new Map<string, LiveTask>();
  readonly #followed: Tasks;

  readonly #options: TaskRegistryOptions;
  readonly #places = new Shares({ limit: MAX_LIVE_TASKS });

  constructor(options: TaskRegistryOptions) {
    this.#options = options;
    this.#followed = new Tasks((name, error) => options.report(`${name}: ${describe(error)}`));
  }

  /** The result of a call: its own result if it ends in time, otherwise a task handle. Undefined if no task can be added or stored. */
  async adopt(work: Work, { inlineMs, signal, ...facts }: Adoption): Promise<Fields | undefined> {
    await untilNotWorking(work, { withinMs: inlineMs, signal });
    if (work.state.at === "ended" || signal.aborted) return cancelledOrEnded(work, signal);
    const task = await this.#register(work, facts);
    if (!task) return undefined;
    const { id } = task.stored;
    if (signal.aborted) {
      this.#forget(task);
      await this.#options.store.drop(id);
      return cancelledOrEnded(work, signal);
    }
    this.#followed.start(`task ${id}`, () => this.#follow(task));
    return taskHandle(task.stored, task.shown);
  }

  /**
   * The current form of a task. Throws `-32602` if this principal has no such task. A stdio client belongs to the user and sees all tasks.
   */
  async form(id: string, principal: string | undefined): Promise<Fields> {
    const live = this.#live.get(id);
    const found = live ? { task: live.stored, lost: false } : await this.#options.store.find(id);
    if (!found || (principal !== undefined && found.task.owner !== principal)) throw invalidParams("there is no such task");
    return live ? taskForm(live.stored, live.shown) : storedForm(found);
  }

  /** The running work of a task; undefined if it has ended. Throws `-32602` as `form` does, and if the task runs in another process. */
  async work(id: string, principal: string | undefined): Promise<Work | undefined> {
    const { status } = await this.form(id, principal);
    const live = this.#live.get(id);
    if (!live && status === "working") throw invalidParams("the task goes on in another process of this server, which must be asked");
    return live?.work;
  }

  /** Resolves when no task is running and the end of each is stored. */
  settle(): Promise<void> {
    return this.#followed.settle();
  }

  async #register(work: Work, facts: Pick<StoredTask, "owner" | "ifLost">): Promise<LiveTask | undefined> {
    const leave = this.#placeFor(facts.owner ?? "");
    if (!leave) return undefined;
    const now = Date.now();
    const id = newTaskId(now);
    const task: LiveTask = { stored: { id, ...facts, createdAt: now, lastUpdatedAt: now }, shown: work.state, work, leave };
    this.#live.set(id, task);
    try {
      await this.#options.store.keep(task.stored);
      return task;
    } catch (error) {
      this.#forget(task);
      this.#options.report(`a call could not become a task: ${describe(error)}`);
      return undefined;
    }
  }

  async #follow(task: LiveTask): Promise<void> {
    const { work } = task;
    const note = () => {
      if (work.state.at !== "ended") this.#show(task, work.state);
    };
    const unwatch = work.watch(note);
    // It may have asked something while it was being stored.
    note();
    const end = await work.ended;
    unwatch();
    const ended: StoredTask = { ...task.stored, end: endOf(end), lastUpdatedAt: Date.now() };
    const kept = await this.#keepEnd(ended);
    this.#show(task, { at: "ended", end });
    if (kept) this.#forget(task);
  }

  async #keepEnd(ended: StoredTask): Promise<boolean> {
    try {
      await this.#options.store.keep(ended);
      return true;
    } catch (error) {
      this.#options.report(`the end of task ${ended.id} could not be stored and is kept in memory only: ${describe(error)}`);
      return false;
    }
  }

  #show(task: LiveTask, state: WorkState): void {
    task.shown = state;
    task.stored = { ...task.stored, lastUpdatedAt: Date.now() };
    this.#options.changed(task.stored.id, taskForm(task.stored, state));
  }

  /** Tasks whose end could not be stored are dropped to make room. */
  #placeFor(owner: string): Release | undefined {
    const leave = this.#places.take(owner);
    if (leave) return leave;
    for (const task of this.#live.values()) if (task.shown.at === "ended") this.#forget(task);
    return this.#places.take(owner);
  }

  #forget({ stored, leave }: LiveTask): void {
    leave();
    this.#live.delete(stored.id);
  }
}

function cancelledOrEnded(work: Work, { aborted }: AbortSignal): Promise<Fields> {
  if (aborted) work.cancel();
  return work.ended.then(resultOfWork);
}

/** Resolves when the work has ended or has a question, when its client is gone, or when the time is up. */
function untilNotWorking(work: Work, { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal }): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      unwatch();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const look = () => {
      if (work.state.at !== "working" || signal.aborted) done();
    };
    const timer = setTimeout(done, withinMs);
    const unwatch = work.watch(look);
    signal.addEventListener("abort", done, { once: true });
    look();
  });
}
