import type { ApiEvent } from "../../../src/api/schemas/events.js";
import type { ThreadResource, ThreadSummaryResource } from "../../../src/api/schemas/threads.js";

/** The thread with the changes that the event reports. */
export function threadAfter(thread: ThreadResource, event: ApiEvent): ThreadResource {
  const { activity, turns } = thread;
  switch (event.type) {
    case "item.completed":
      return event.item.type === "turnSummary" ? withoutTurn(thread, event.turnId) : thread;
    case "turn.ended":
      return withoutTurn(thread, event.turnId);
    case "approval.asked":
      return activity
        ? { ...thread, state: "waiting", activity: { ...activity, approvals: [...activity.approvals, event.approvalId] } }
        : thread;
    case "approval.settled": {
      if (!activity) return thread;
      const approvals = activity.approvals.filter((id) => id !== event.approvalId);
      return {
        ...thread,
        state: approvals.length === 0 && turns.length > 0 ? "running" : thread.state,
        activity: { ...activity, approvals },
      };
    }
    default:
      return thread;
  }
}

function withoutTurn(thread: ThreadResource, turnId: string): ThreadResource {
  const turns = thread.turns.filter(({ id }) => id !== turnId);
  const isOver = turns.length === 0;
  return { ...thread, turns, state: isOver ? "idle" : thread.state, activity: isOver ? null : thread.activity };
}

/** The same for an entry of a list, which has the number of waiting turns instead of the turns. */
export function summaryAfter(summary: ThreadSummaryResource, event: ApiEvent): ThreadSummaryResource {
  const { activity } = summary;
  if (!activity) return summary;
  if (event.type === "turn.ended") return activity.queued > 0 ? summary : { ...summary, state: "idle", activity: null };
  if (event.type !== "approval.settled") return summary;
  const approvals = activity.approvals.filter((id) => id !== event.approvalId);
  return { ...summary, state: approvals.length === 0 ? "running" : summary.state, activity: { ...activity, approvals } };
}
