import { randomBytes } from "node:crypto";

/** Keeps what becomes of calls that their clients follow by an id, beyond this process. `stores/files` implements it on files. */
export interface TaskStore {
  /** Comes back when it is on the disk. Throws `StorageFailed`. */
  keep(task: StoredTask): Promise<void>;
  /** Undefined when nobody has it, or it has expired. Throws `StorageFailed` when it is there but unreadable. */
  find(id: string): Promise<FoundTask | undefined>;
  /** Gives up a task that goes on in this process: nobody was told of it. */
  drop(id: string): Promise<void>;
}

export interface StoredTask {
  /** Whoever knows it may ask for the task, so that it can be neither guessed nor chosen. */
  readonly id: string;
  /** The principal that made the call; null on stdio, where the client is the user's own. */
  readonly owner: string | null;
  /** In milliseconds since 1970, like all times here. */
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** Absent while it goes on. */
  readonly end?: TaskEnd;
  /** The result it has should its process die before its end. */
  readonly ifLost: TaskResult;
}

export type TaskResult = Readonly<Record<string, unknown>>;

export type TaskEnd =
  | { readonly status: "completed"; readonly result: TaskResult }
  | { readonly status: "failed"; readonly error: TaskResult }
  | { readonly status: "cancelled" };

export interface FoundTask {
  readonly task: StoredTask;
  /** It has not ended, and the process it went on in is gone. */
  readonly lost: boolean;
}

/** How long a task is kept after the call was made. A turn may take hours, and its client be away for the night. */
export const TASK_TTL_MS = 24 * 3_600_000;

/** When its call was made, then what nobody can guess. */
const TASK_ID = /^([0-9a-z]{8,9})-[0-9a-f]{32}$/;

/** 128 random bits, after the time, so that a look at the ids is enough to tell which tasks have expired. */
export function newTaskId(createdAt: number): string {
  return `${createdAt.toString(36)}-${randomBytes(16).toString("hex")}`;
}

/** The moment the task was made, in milliseconds; undefined when it is no id of ours. */
export function timeOfTaskId(id: string): number | undefined {
  const [, time] = TASK_ID.exec(id) ?? [];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}
