import type { QueryClient } from "@tanstack/react-query";
import type { Settlement } from "../../../src/api/schemas/common.js";
import type { ApiEvent } from "../../../src/api/schemas/events.js";
import type { Approval } from "../../../src/api/schemas/threads.js";
import { type Connection, followEvents } from "../api/eventStream.js";
import type { ApiFailure } from "../api/requests.js";
import { APPROVALS, PROJECTS, THREADS } from "./queries.js";
import { Signal } from "./signal.js";

/** A question that was open here, and what became of it. */
export interface SettledApproval {
  readonly approval: Approval;
  readonly settlement: Settlement;
}

const MOST_SETTLED = 30;
/** Lists are read again at most this often, however much happens. */
const LISTS_EVERY_MS = 1_000;

export const connection = new Signal<Connection>("connecting");
export const settledApprovals = new Signal<readonly SettledApproval[]>([]);
/** Why the server does not let us watch. */
export const refusal = new Signal<ApiFailure | undefined>(undefined);

interface ApprovalAnswer {
  approvals: Approval[];
}

/** Keeps the lists as the server's events tell, for as long as the signal lasts. */
export function watchServer(queries: QueryClient, signal: AbortSignal): void {
  const refreshLists = throttled(() => {
    void queries.invalidateQueries({ queryKey: [THREADS] });
    void queries.invalidateQueries({ queryKey: [PROJECTS] });
  });
  let instance: string | undefined;
  const onEvent = (event: ApiEvent) => {
    switch (event.type) {
      case "hello":
        // What was asked before a restart is not open any more.
        if (instance !== undefined && event.instance !== instance) void queries.invalidateQueries();
        instance = event.instance;
        return;
      case "reset":
        void queries.invalidateQueries();
        return;
      case "approval.asked":
        if (event.approval) opened(queries, event.approval);
        else void queries.invalidateQueries({ queryKey: [APPROVALS] });
        return refreshLists();
      case "approval.settled":
        settled(queries, event.approvalId, event.settlement);
        return refreshLists();
      case "heartbeat":
        return;
      default:
        return refreshLists();
    }
  };
  void followEvents({
    path: "events",
    onEvent,
    onConnection(now) {
      // Without a place to go on from, what happened before the stream opened is in the lists only.
      if (now === "open" && connection.value !== "open") void queries.invalidateQueries();
      connection.set(now);
    },
    onRefused: (failure) => refusal.set(failure),
    signal,
  });
}

function opened(queries: QueryClient, approval: Approval): void {
  queries.setQueryData<ApprovalAnswer>([APPROVALS], (known) => {
    const others = known?.approvals.filter(({ id }) => id !== approval.id) ?? [];
    return { approvals: [...others, approval] };
  });
}

/** Also for an answer of our own: the page need not wait for the event. */
export function settled(queries: QueryClient, id: string, settlement: Settlement): void {
  const approval = queries.getQueryData<ApprovalAnswer>([APPROVALS])?.approvals.find((open) => open.id === id);
  queries.setQueryData<ApprovalAnswer>([APPROVALS], (known) => known && { approvals: known.approvals.filter((open) => open.id !== id) });
  if (approval) settledApprovals.set([{ approval, settlement }, ...settledApprovals.value].slice(0, MOST_SETTLED));
}

function throttled(act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  return () => {
    if (timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        last = Date.now();
        act();
      },
      Math.max(0, last + LISTS_EVERY_MS - Date.now()),
    );
  };
}
