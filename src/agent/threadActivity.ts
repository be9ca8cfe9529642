import type { ApprovalDesk } from "../approvals/desk.js";
import type { ApprovalRequest } from "../approvals/model.js";
import type { ThreadId } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import type { ThreadRegistry } from "../threads/threadRegistry.js";

/** The current activity of a thread. */
export type ThreadActivity =
  | { readonly state: "idle" }
  | {
      /** `waiting`: the turn waits until `questions` are answered. */
      readonly state: "running" | "waiting";
      /** Time since the turn started; 0 while it is queued. */
      readonly ms: number;
      /** The turn's current step. */
      readonly step: ThreadEvent | undefined;
      readonly questions: readonly ApprovalRequest[];
      /** Turns queued behind the running one. */
      readonly queued: number;
    };

export interface ActivityParts {
  readonly threads: Pick<ThreadRegistry, "runningTurns">;
  readonly desk: Pick<ApprovalDesk, "pending">;
}

/** The activity of each of the given threads in this process. The caller must be allowed to see them. */
export async function activityOf(
  ids: readonly ThreadId[],
  { threads, desk }: ActivityParts,
): Promise<ReadonlyMap<ThreadId, ThreadActivity>> {
  const busy = ids.filter((id) => threads.runningTurns(id).length > 0);
  const open = busy.length === 0 ? [] : await desk.pending();
  return new Map(
    ids.map((id): [ThreadId, ThreadActivity] => {
      const [turn, ...behind] = threads.runningTurns(id);
      if (!turn) return [id, { state: "idle" }];
      const questions = open.filter(({ threadId }) => threadId === id);
      const state = questions.length > 0 ? "waiting" : "running";
      return [id, { state, ms: turn.ranMs, step: turn.step, questions, queued: behind.length }];
    }),
  );
}
