import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { z } from "zod";
import type { Settlement } from "../../../src/api/schemas/common.js";
import type { ApiEvent } from "../../../src/api/schemas/events.js";
import type { Approval, ThreadPageResource, ThreadResource, ThreadSummaryResource } from "../../../src/api/schemas/threads.js";
import { type Connection, followEvents } from "../api/eventStream.js";
import type { ApiFailure } from "../api/requests.js";
import { summaryAfter, threadAfter } from "../lib/threadAfter.js";
import { keepForm } from "./drafts.js";
import { APPROVALS, PROJECTS, THREAD, THREADS } from "./queries.js";
import { Signal } from "./signal.js";

/** A question that was open on this page, with its settlement. */
export interface SettledApproval {
  readonly approval: Approval;
  readonly settlement: Settlement;
  /** This page answered it. */
  readonly isOwn: boolean;
}

const MOST_SETTLED = 30;
/** The shortest time between two reloads of the lists. */
const LISTS_EVERY_MS = 1_000;

export const connection = new Signal<Connection>("connecting");
export const settledApprovals = new Signal<readonly SettledApproval[]>([]);
/** Why the server refuses the event stream. */
export const refusal = new Signal<ApiFailure | undefined>(undefined);

interface ApprovalAnswer {
  approvals: Approval[];
}

/** Keeps the lists up to date with the server's events, until the signal aborts. */
export function watchServer(queries: QueryClient, signal: AbortSignal): void {
  const refreshLists = throttled(() => {
    void queries.invalidateQueries({ queryKey: [THREADS] });
    void queries.invalidateQueries({ queryKey: [PROJECTS] });
  });
  let instance: string | undefined;
  const onEvent = (event: ApiEvent) => {
    if ("threadId" in event) noteThread(queries, event.threadId, event);
    switch (event.type) {
      case "hello":
        // A restart closes all earlier questions.
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
      case "turn.ended":
        closed(queries, event.turnId);
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
      // A stream without a resume id has no events from before it was opened; the lists have them.
      if (now === "open" && connection.value !== "open") void queries.invalidateQueries();
      connection.set(now);
    },
    onRefused: (failure) => refusal.set(failure),
    signal,
  });
}

/**
 * Applies an event to the cached thread and reloads the thread: at once if it is on the page, otherwise when it is next shown. Without the
 * first step, a page that is shown again would begin with its old state.
 */
export function noteThread(queries: QueryClient, threadId: string, event: ApiEvent): void {
  const queryKey = [THREAD, threadId];
  // A response in transit may be older than the event.
  void queries.cancelQueries({ queryKey }, { revert: false, silent: true });
  queries.setQueryData<ThreadResource>(queryKey, (known) => known && threadAfter(known, event));
  queries.setQueriesData<InfiniteData<z.infer<typeof ThreadPageResource>>>({ queryKey: [THREADS] }, (known) => {
    const after = (thread: ThreadSummaryResource) => (thread.id === threadId ? summaryAfter(thread, event) : thread);
    return known && { ...known, pages: known.pages.map((page) => ({ ...page, threads: page.threads.map(after) })) };
  });
  // The server reports a turn's last item before it reports the turn's end.
  if (event.type !== "item.completed") void queries.invalidateQueries({ queryKey });
}

function opened(queries: QueryClient, approval: Approval): void {
  queries.setQueryData<ApprovalAnswer>([APPROVALS], (known) => {
    const others = known?.approvals.filter(({ id }) => id !== approval.id) ?? [];
    return { approvals: [...others, approval] };
  });
}

/** A turn that ends takes its open questions with it; they have no events of their own. */
function closed(queries: QueryClient, turnId: string): void {
  const isOpen = (approval: Approval) => approval.turnId !== turnId;
  queries.setQueryData<ApprovalAnswer>([APPROVALS], (known) => known && { approvals: known.approvals.filter(isOpen) });
}

/** Also called for an answer from this page, which need not wait for the event; the event may come first. */
export function settled(queries: QueryClient, id: string, settlement: Settlement, { isOwn = false } = {}): void {
  keepForm(id, undefined);
  if (isOwn) settledApprovals.set(settledApprovals.value.map((each) => (each.approval.id === id ? { ...each, isOwn } : each)));
  const approval = queries.getQueryData<ApprovalAnswer>([APPROVALS])?.approvals.find((open) => open.id === id);
  queries.setQueryData<ApprovalAnswer>([APPROVALS], (known) => known && { approvals: known.approvals.filter((open) => open.id !== id) });
  if (approval) settledApprovals.set([{ approval, settlement, isOwn }, ...settledApprovals.value].slice(0, MOST_SETTLED));
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
