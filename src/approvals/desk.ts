import { randomUUID } from "node:crypto";
import { AppError } from "../lib/errors.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import { type Deferred, deferred } from "../lib/promises.js";
import type { ApprovalDecision, ApprovalId, ApprovalRequest, ApprovalSubject } from "./model.js";

/** How long a question waits for an answer unless configured otherwise: a person may be at lunch. */
export const DEFAULT_DEADLINE_MS = 30 * 60_000;
/** The limit of open questions per thread; further ones are refused. */
const MAX_OPEN_PER_THREAD = 64;

export class TooManyQuestions extends AppError {
  readonly code = "too_many_questions";
}

export interface Question {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly subject: ApprovalSubject;
  /** The turn that asks; when it is interrupted, the question is withdrawn. */
  readonly signal: AbortSignal;
}

export interface OpenQuestion {
  readonly request: ApprovalRequest;
  /** Settles once. Rejects with the signal's reason when the turn is interrupted. */
  readonly decision: Promise<ApprovalDecision>;
}

interface Pending {
  readonly request: ApprovalRequest;
  readonly decision: Deferred<ApprovalDecision>;
}

/**
 * Questions that wait for an answer. The first answer decides, whichever node it comes from, and closes the question for everyone else.
 * Contract suite: test/contracts/approvalDesk.ts.
 */
export interface ApprovalDesk {
  /**
   * Called on the node that runs the asking turn, which waits for the decision. Returns without waiting until other nodes see the question.
   */
  ask(question: Question): OpenQuestion;
  /** False when the question is unknown or already decided. Rejects when that cannot be determined. */
  answer(id: ApprovalId, decision: ApprovalDecision): Promise<boolean>;
  /** The open questions, oldest first. */
  pending(filter?: { readonly threadId?: ThreadId }): Promise<readonly ApprovalRequest[]>;
}

/** Keeps the questions in the memory of one process. */
export class MemoryApprovalDesk implements ApprovalDesk {
  readonly #pending = new Map<ApprovalId, Pending>();
  readonly #deadlineMs: number;

  constructor(deadlineMs: number = DEFAULT_DEADLINE_MS) {
    this.#deadlineMs = deadlineMs;
  }

  ask({ threadId, turnId, subject, signal }: Question): OpenQuestion {
    signal.throwIfAborted();
    if (this.#of(threadId).length >= MAX_OPEN_PER_THREAD)
      throw new TooManyQuestions(`${MAX_OPEN_PER_THREAD} questions of this thread are already open`);
    // The only place that creates an ApprovalId.
    const id = randomUUID() as string as ApprovalId;
    const request: ApprovalRequest = { id, threadId, turnId, subject, deadline: Date.now() + this.#deadlineMs };
    const decision = deferred<ApprovalDecision>();
    this.#pending.set(id, { request, decision });
    const watched = this.#watch(id, decision, signal);
    // The turn may be interrupted before the asker awaits the promise.
    watched.catch(() => undefined);
    return { request, decision: watched };
  }

  async answer(id: ApprovalId, decision: ApprovalDecision): Promise<boolean> {
    return this.#decide(id, decision);
  }

  async pending({ threadId }: { readonly threadId?: ThreadId } = {}): Promise<readonly ApprovalRequest[]> {
    return this.#of(threadId);
  }

  #decide(id: ApprovalId, decision: ApprovalDecision): boolean {
    const pending = this.#pending.get(id);
    if (!pending) return false;
    this.#pending.delete(id);
    pending.decision.resolve(decision);
    return true;
  }

  #of(threadId: ThreadId | undefined): ApprovalRequest[] {
    const all = [...this.#pending.values()].map(({ request }) => request);
    return threadId === undefined ? all : all.filter((request) => request.threadId === threadId);
  }

  async #watch(id: ApprovalId, decision: Deferred<ApprovalDecision>, signal: AbortSignal): Promise<ApprovalDecision> {
    const reason = `nobody answered within ${spanOf(this.#deadlineMs)}`;
    const overdue = setTimeout(() => this.#decide(id, { kind: "denied", reason, by: "deadline" }), this.#deadlineMs);
    overdue.unref();
    const withdraw = () => {
      this.#pending.delete(id);
      decision.reject(signal.reason);
    };
    signal.addEventListener("abort", withdraw, { once: true });
    try {
      return await decision.promise;
    } finally {
      clearTimeout(overdue);
      signal.removeEventListener("abort", withdraw);
    }
  }
}

function spanOf(ms: number): string {
  const [count, unit] = ms < 60_000 ? [Math.ceil(ms / 1_000), "second"] : [Math.round(ms / 60_000), "minute"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
