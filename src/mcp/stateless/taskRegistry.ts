import { invalidParams } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import type { Fields } from "../../lib/fields.js";
import { Tasks } from "../../lib/promises.js";
import { type Release, Shares } from "../../lib/shares.js";
import { newTaskId, type StoredTask, type TaskStore } from "../../tasks/taskStore.js";
import { resultOfWork, type Work, type WorkState } from "./followedTurn.js";
import { endOf, storedForm, taskForm, taskHandle } from "./taskForm.js";

/** Tasks that are in memory: those that go on, and those whose end could not be kept on the disk. */
const MAX_LIVE_TASKS = 1_024;

export interface TaskRegistryOptions {
  readonly store: TaskStore;
  /** Told whenever a task is another, with the form it has now. */
  readonly changed: (id: string, form: Fields) => void;
  /** For people who look at the server's own output. */
  readonly report: (line: string) => void;
}

export interface Adoption extends Pick<StoredTask, "owner" | "ifLost"> {
  /** What is over within this time is answered, and no task. */
  readonly inlineMs: number;
  /** Aborts when the call is not wanted any more. Has no effect once the task's handle is given out. */
  readonly signal: AbortSignal;
}

interface LiveTask {
  stored: StoredTask;
  /** What is told of it: an end only when it is on the disk, so that no client has seen what a restart would take back. */
  shown: WorkState;
  readonly work: Work;
  /** Gives its place in memory back. */
  readonly leave: Release;
}

/** The tasks of this server: work that goes on without its client, and is asked after by an id. */
export class TaskRegistry {
  readonly #live = new Map<string, LiveTask>();
  readonly #followed: Tasks;

  readonly #options: TaskRegistryOptions;
  readonly #places = new Shares({ limit: MAX_LIVE_TASKS });

  constructor(options: TaskRegistryOptions) {
    this.#options = options;
    this.#followed = new Tasks((name, error) => options.report(`${name}: ${describe(error)}`));
  }

  /** The answer to a call: its result if there is one at once, else a task's handle. Undefined when there is no room for a task, or no disk. */
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

  /** The task as it is now. Throws `-32602` when this principal has no such task; on stdio the client is the user's own, and has all. */
  async form(id: string, principal: string | undefined): Promise<Fields> {
    const live = this.#live.get(id);
    const found = live ? { task: live.stored, lost: false } : await this.#options.store.find(id);
    if (!found || (principal !== undefined && found.task.owner !== principal)) throw invalidParams("there is no such task");
    return live ? taskForm(live.stored, live.shown) : storedForm(found);
  }

  /** The work of a task, as long as it goes on here; undefined when it has ended. Throws `-32602` as `form` does, and when it goes on elsewhere. */
  async work(id: string, principal: string | undefined): Promise<Work | undefined> {
    const { status } = await this.form(id, principal);
    const live = this.#live.get(id);
    if (!live && status === "working") throw invalidParams("the task goes on in another process of this server, which must be asked");
    return live?.work;
  }

  /** Resolves when no task goes on, and how each ended is on the disk. */
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
      this.#options.report(`a call could not be made a task: ${describe(error)}`);
      return undefined;
    }
  }

  async #follow(task: LiveTask): Promise<void> {
    const { work } = task;
    const note = () => {
      if (work.state.at !== "ended") this.#show(task, work.state);
    };
    const unwatch = work.watch(note);
    // It may have asked something while it was put on the disk.
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
      this.#options.report(`how task ${ended.id} ended is kept in memory only: ${describe(error)}`);
      return false;
    }
  }

  #show(task: LiveTask, state: WorkState): void {
    task.shown = state;
    task.stored = { ...task.stored, lastUpdatedAt: Date.now() };
    this.#options.changed(task.stored.id, taskForm(task.stored, state));
  }

  /** Tasks whose end could not be kept on the disk make room for others. */
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

/** Resolves when the work has ended or asks something, when its client has gone, or when it takes too long. */
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
