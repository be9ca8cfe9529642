import { open, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { surplusOf } from "../../lib/shares.js";
import { isAbandoned, keepFresh, ownRun, type ProcessRun } from "../../platform/processes.js";
import { type FoundTask, type StoredTask, TASK_TTL_MS, type TaskStore, timeOfTaskId } from "../../tasks/taskStore.js";
import { StorageFailed } from "../../threads/errors.js";
import { storageFailure } from "./failure.js";
import { writeWholeFile } from "./wholeFile.js";

/** Far more than are started in a day; beyond it the oldest of the principal that has most are removed. */
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
      const { id, owner, ...rest } = task;
      await writeWholeFile(file, `${JSON.stringify({ id, owner, ...rest, run: ownRun() } satisfies TaskFile)}\n`);
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
    // Names begin with the time, whose number of digits is constant for decades: the oldest come first.
    const files = (await namesIn(this.#folder))
      .sort()
      .map((name) => ({ file: path.join(this.#folder, name), id: name.replace(/\..*/s, "") }));
    const expired = files.filter(({ id }) => this.#isExpired(id));
    const ended = files.filter(({ id }) => !this.#isExpired(id) && !this.#running.has(id));
    for (const { file } of [...expired, ...(await surplusAmong(ended))]) await rm(file, { force: true });
  }
}

/** Looks into the files only if there are too many. */
async function surplusAmong(files: readonly { readonly file: string }[]): Promise<readonly { readonly file: string }[]> {
  if (files.length <= MOST_FILES) return [];
  const owned: { readonly file: string; readonly owner: string }[] = [];
  for (const { file } of files) owned.push({ file, owner: await ownerIn(file) });
  return surplusOf(owned, MOST_FILES, { ownerOf: ({ owner }) => owner });
}

/** A result may have megabytes; the owner stands before it. */
const HEAD_BYTES = 4_096;
const OWNER = /^\{"id":"[^"]*","owner":(null|"(?:[^"\\]|\\.)*")/;

/** As it is written in the file. Files of unknown owners count as those of one. */
async function ownerIn(file: string): Promise<string> {
  try {
    await using opened = await open(file);
    const { buffer, bytesRead } = await opened.read({ buffer: Buffer.alloc(HEAD_BYTES) });
    return OWNER.exec(buffer.toString("utf8", 0, bytesRead))?.[1] ?? "";
  } catch {
    // Another process removed it meanwhile.
    return "";
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
