import type { ApprovalDesk } from "../approvals/desk.js";
import type { ApprovalRequest } from "../approvals/model.js";
import type { ThreadId } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import type { ThreadRegistry } from "../threads/threadRegistry.js";

/** What goes on on a thread at this moment. */
export type ThreadActivity =
  | { readonly state: "idle" }
  | {
      /** `waiting`: nothing moves before somebody answers `questions`. */
      readonly state: "running" | "waiting";
      /** Since the turn began; 0 while it waits for another to end. */
      readonly ms: number;
      /** What the turn is at. */
      readonly step: ThreadEvent | undefined;
      readonly questions: readonly ApprovalRequest[];
      /** Turns that wait behind the one that runs. */
      readonly queued: number;
    };

export interface ActivityParts {
  readonly threads: Pick<ThreadRegistry, "runningTurns">;
  readonly desk: Pick<ApprovalDesk, "pending">;
  readonly now: number;
}

/** What goes on on each of the threads in this process. Whoever asks may see them. */
export async function activityOf(
  ids: readonly ThreadId[],
  { threads, desk, now }: ActivityParts,
): Promise<ReadonlyMap<ThreadId, ThreadActivity>> {
  const busy = ids.filter((id) => threads.runningTurns(id).length > 0);
  const open = busy.length === 0 ? [] : await desk.pending();
  return new Map(
    ids.map((id): [ThreadId, ThreadActivity] => {
      const [turn, ...behind] = threads.runningTurns(id);
      if (!turn) return [id, { state: "idle" }];
      const questions = open.filter(({ threadId }) => threadId === id);
      const state = questions.length > 0 ? "waiting" : "running";
      const ms = turn.begunAt === undefined ? 0 : Math.max(0, now - turn.begunAt);
      return [id, { state, ms, step: turn.step, questions, queued: behind.length }];
    }),
  );
}
