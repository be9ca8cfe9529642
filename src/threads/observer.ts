import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../approvals/model.js";
import type { ThreadId, TurnId, TurnKey } from "../lib/ids.js";
import type { LogReader } from "./eventLog.js";
import type { ThreadEvent, TurnInput, TurnOutcome } from "./events.js";
import type { ThreadSettings } from "./settings.js";

export interface LoadedThread {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  /** `stored`: it was there before, and has been read from the store. */
  readonly origin: "new" | "stored";
}

/** A turn, to look at. */
export interface ObservedTurn {
  readonly threadId: ThreadId;
  readonly id: TurnId;
  readonly key: TurnKey;
  readonly input: TurnInput;
  readonly log: LogReader<ThreadEvent> & { readonly size: number };
}

/**
 * Sees what happens on the threads of one registry: each method is called once for each fact, at the moment it becomes true and in that
 * order. A turn is queued, begins unless it was interrupted while it waited, and ends. A question that has no answer when its turn ends
 * ends with it. A thread that was closed is out of memory, not gone: it is opened again when it is used again.
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
