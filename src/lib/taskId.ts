import { randomBytes } from "node:crypto";

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
