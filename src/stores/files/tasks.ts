import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { isAbandoned, keepFresh, ownRun, type ProcessRun } from "../../platform/processes.js";
import { type FoundTask, type StoredTask, TASK_TTL_MS, type TaskStore, timeOfTaskId } from "../../tasks/taskStore.js";
import { StorageFailed } from "../../threads/errors.js";
import { storageFailure } from "./failure.js";
import { writeWholeFile } from "./wholeFile.js";

/** Far more than are started in a day; beyond it the oldest are removed. */
const MOST_FILES = 10_000;
const SWEEP_EVERY_MS = 10 * 60_000;

/** Tasks as one small file each, which several processes may share. */
export class TaskFiles implements TaskStore {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #running = new Map<string, () => void>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(codexHome: string, now: () => number = Date.now) {
    this.#now = now;
    this.#folder = path.join(codexHome, "mcp-server", "tasks");
  }

  async keep(task: StoredTask): Promise<void> {
    const file = this.#fileOf(task.id);
    try {
      await this.#sweep();
      await writeWholeFile(file, `${JSON.stringify({ ...task, run: ownRun() } satisfies TaskFile)}\n`);
    } catch (error) {
      throw storageFailure("keep the task in", file, error);
    }
    this.#noteRunning(task);
  }

  async find(id: string): Promise<FoundTask | undefined> {
    if (this.#isExpired(id)) return undefined;
    const file = this.#fileOf(id);
    try {
      const { run, ...task } = taskIn(await readFile(file, "utf8"), file);
      const lost = task.end === undefined && !this.#running.has(id) && isAbandoned({ ...run, name: path.basename(file) }, this.#folder);
      return { task, lost };
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw storageFailure("read the task from", file, error);
    }
  }

  async drop(id: string): Promise<void> {
    this.#stopRunning(id);
    await rm(this.#fileOf(id), { force: true });
  }

  #fileOf(id: string): string {
    return path.join(this.#folder, `${id}.json`);
  }

  /** While a task runs here, the modification time of its file shows that to other machines. */
  #noteRunning({ id, end }: StoredTask): void {
    this.#stopRunning(id);
    if (end === undefined) this.#running.set(id, keepFresh(this.#fileOf(id)));
  }

  #stopRunning(id: string): void {
    this.#running.get(id)?.();
    this.#running.delete(id);
  }

  /** Also guards the path: a foreign id never becomes a file name. */
  #isExpired(id: string): boolean {
    const createdAt = timeOfTaskId(id);
    if (createdAt === undefined) return true;
    // A turn may last longer than its task would be kept.
    return !this.#running.has(id) && this.#now() - createdAt > TASK_TTL_MS;
  }

  async #sweep(): Promise<void> {
    if (this.#now() - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = this.#now();
    const names = (await namesIn(this.#folder)).sort();
    const tooMany = names.length - MOST_FILES;
    // Names begin with the time, whose number of digits is constant for decades: the oldest come first.
    for (const [at, name] of names.entries()) {
      if (at < tooMany || this.#isExpired(name.slice(0, name.indexOf(".")))) await rm(path.join(this.#folder, name), { force: true });
    }
  }
}

interface TaskFile extends StoredTask {
  readonly run: ProcessRun;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    // The first task creates it.
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

function taskIn(text: string, file: string): TaskFile {
  const value = parsed(text);
  // This class writes files atomically: a file with these two fields has the rest.
  if (isFields(value) && typeof value["id"] === "string" && isFields(value["run"])) return value as unknown as TaskFile;
  throw new StorageFailed(`${file} does not hold a task. Restore it, or remove it.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
