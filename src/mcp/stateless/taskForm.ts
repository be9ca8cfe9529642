import type { RpcError } from "../../jsonrpc/errors.js";
import type { Fields } from "../../lib/fields.js";
import { type FoundTask, type StoredTask, TASK_TTL_MS, type TaskEnd } from "../../tasks/taskStore.js";
import type { WorkEnd, WorkState } from "./followedTurn.js";

/** How often a client without a subscription should poll. */
const POLL_INTERVAL_MS = 1_000;

export type TaskTimes = Pick<StoredTask, "id" | "createdAt" | "lastUpdatedAt">;

/** A task in the extension's format, with the fields of its status. */
export function taskForm(times: TaskTimes, state: WorkState): Fields {
  switch (state.at) {
    case "working":
      return { ...basics(times, "working"), statusMessage: state.message };
    case "asking":
      return { ...basics(times, "input_required"), statusMessage: state.message, inputRequests: state.requests };
    case "ended":
      return endedForm(times, endOf(state.end));
  }
}

/** The handle that a call returns. The fields of a status come with `tasks/get`. */
export function taskHandle(times: TaskTimes, state: WorkState): Fields {
  const { inputRequests: _requests, result: _result, error: _error, ...handle } = taskForm(times, state);
  return { resultType: "task", ...handle };
}

/** A task read from disk: it has ended, runs in another process, or was lost when that process died. */
export function storedForm({ task, lost }: FoundTask): Fields {
  if (task.end) return endedForm(task, task.end);
  if (lost) return endedForm(task, { status: "completed", result: task.ifLost });
  return { ...basics(task, "working"), statusMessage: "Running in another process of this server" };
}

export function endOf(end: WorkEnd): TaskEnd {
  switch (end.how) {
    case "answered":
      return { status: "completed", result: end.result };
    case "failed":
      return { status: "failed", error: errorForm(end.error) };
    case "cancelled":
      return { status: "cancelled" };
  }
}

function endedForm(times: TaskTimes, end: TaskEnd): Fields {
  return { ...basics(times, end.status), ...end };
}

function basics({ id, createdAt, lastUpdatedAt }: TaskTimes, status: string): Fields {
  return {
    taskId: id,
    status,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
    ttlMs: TASK_TTL_MS,
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}

function errorForm({ code, message, extra }: RpcError): Fields {
  return { code, message, ...(extra === undefined ? {} : { data: extra }) };
}
