import { randomBytes } from "node:crypto";

/** Keeps the results of calls that clients follow by a task id, across processes. `stores/files` implements it on files. */
export interface TaskStore {
  /** Resolves when the task is on disk. Throws `StorageFailed`. */
  keep(task: StoredTask): Promise<void>;
  /** Undefined when the task is unknown or has expired. Throws `StorageFailed` when it exists but is unreadable. */
  find(id: string): Promise<FoundTask | undefined>;
  /** Removes a task that still runs in this process and whose id no client has received. */
  drop(id: string): Promise<void>;
}

export interface StoredTask {
  /** Anyone who knows the id may ask for the task, so the server chooses it and it cannot be guessed. */
  readonly id: string;
  /** The principal that made the call; null on stdio, where the client is the user's own. */
  readonly owner: string | null;
  /** In milliseconds since 1970, like all times here. */
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** Absent while the task runs. */
  readonly end?: TaskEnd;
  /** The result if the process dies before the task ends. */
  readonly ifLost: TaskResult;
}

export type TaskResult = Readonly<Record<string, unknown>>;

export type TaskEnd =
  | { readonly status: "completed"; readonly result: TaskResult }
  | { readonly status: "failed"; readonly error: TaskResult }
  | { readonly status: "cancelled" };

export interface FoundTask {
  readonly task: StoredTask;
  /** The task has not ended, and its process is gone. */
  readonly lost: boolean;
}

/** How long a task is kept after its call. A turn may take hours, and its client may be away overnight. */
export const TASK_TTL_MS = 24 * 3_600_000;

/** The time of the call, then a random part. */
const TASK_ID = /^([0-9a-z]{8,9})-[0-9a-f]{32}$/;

/** 128 random bits after the time, so that expired tasks can be recognised by their ids. */
export function newTaskId(createdAt: number): string {
  return `${createdAt.toString(36)}-${randomBytes(16).toString("hex")}`;
}

/** The time when the task was created, in milliseconds; undefined for a foreign id. */
export function timeOfTaskId(id: string): number | undefined {
  const [, time] = TASK_ID.exec(id) ?? [];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}
