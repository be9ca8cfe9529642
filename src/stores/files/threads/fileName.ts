import { type ThreadId, threadIdOf } from "../../../lib/ids.js";

/** `rollout-2026-01-27T10-32-31-<uuid>.jsonl`: when the thread began, in the local time of its machine, and which it is. */
const FILE_NAME = /^rollout-(\d{4})-(\d{2})-(\d{2})T\d{2}-\d{2}-\d{2}-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

export interface RolloutName {
  readonly threadId: ThreadId;
  /** YYYY, MM, DD: the folders it belongs into. */
  readonly day: readonly string[];
}

/** Undefined for a file that is no rollout. Names of rollouts sort by age, then by id. */
export function parseRolloutName(name: string): RolloutName | undefined {
  const [, ...parts] = FILE_NAME.exec(name) ?? [];
  const id = parts.pop();
  return id === undefined ? undefined : { threadId: threadIdOf(id), day: parts };
}
