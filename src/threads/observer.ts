import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../approvals/model.js";
import type { ThreadId, TurnId, TurnKey } from "../lib/ids.js";
import type { LogReader } from "./eventLog.js";
import type { ThreadEvent, TurnInput, TurnOutcome } from "./events.js";
import type { ThreadSettings } from "./settings.js";

export interface LoadedThread {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  /** `stored`: the thread existed before and was read from the store. */
  readonly origin: "new" | "stored";
}

/** A read-only view of a turn. */
export interface ObservedTurn {
  readonly threadId: ThreadId;
  readonly id: TurnId;
  readonly key: TurnKey;
  readonly input: TurnInput;
  readonly log: LogReader<ThreadEvent> & { readonly size: number };
  /** How long the engine has run it so far, or ran it in all. */
  readonly ranMs: number;
}

/**
 * Observes the threads of one registry. Each method is called once per fact, when the fact becomes true, and in order. A turn is queued,
 * begins unless it was interrupted while it waited, and ends. An unanswered question ends with its turn. A closed thread is out of memory,
 * not deleted: it is opened again on its next use.
 */
export interface ThreadObserver {
  threadOpened(thread: LoadedThread): void;
  turnQueued(turn: ObservedTurn): void;
  turnBegun(turn: ObservedTurn): void;
  questionAsked(turn: ObservedTurn, request: ApprovalRequest): void;
  questionAnswered(turn: ObservedTurn, answer: { readonly id: ApprovalId; readonly decision: ApprovalDecision }): void;
  /** The log is complete and the outcome settled. */
  turnEnded(turn: ObservedTurn, outcome: TurnOutcome): void;
  threadClosed(id: ThreadId): void;
}
