import type { ApprovalDesk } from "../approvals/desk.js";
import type { ApprovalDecision, ApprovalSubject } from "../approvals/model.js";
import { SANDBOX_REMEDY } from "../exec/errors.js";
import { newTurnKey, type ThreadId, type TurnId } from "../lib/ids.js";
import { deferred, monotonicMs } from "../lib/promises.js";
import type { TurnContext } from "./engine.js";
import type { EventLog, EventLogs } from "./eventLog.js";
import type { ThreadEvent, TurnEnd, TurnInput, TurnOutcome } from "./events.js";
import type { SandboxCeiling, TurnLimits } from "./limits.js";
import { MemoryEventLog, TURN_LOG } from "./memoryEventLog.js";
import type { ThreadObserver } from "./observer.js";
import type { ThreadSettings } from "./settings.js";

/** How long an interrupted engine has to end its turn by itself. */
const INTERRUPT_GRACE_MS = 2_000;

/** A request for a turn, with its limits. */
export interface TurnRequest extends TurnInput {
  /** Absent: only the thread's settings and approvals apply. */
  readonly limits?: TurnLimits | undefined;
  readonly watch?: TurnWatch | undefined;
  /** The thread's settings from this turn on. Absent: unchanged. */
  readonly settings?: ThreadSettings | undefined;
  /**
   * Called before each command, patch and MCP call; those wait for it where the engine supports that. Never rejects, and takes bounded
   * time.
   */
  readonly beforeChanges?: (() => Promise<void>) | undefined;
}

/** Called when a turn is requested, then for every event as it is published. For logs and metrics: must be quick and never throw. */
export type TurnWatch = (turn: Turn) => (event: ThreadEvent) => void;

export interface NewTurn extends TurnRequest {
  readonly observer?: ThreadObserver | undefined;
  /** Registers the log for others. Absent: the log is not registered. */
  readonly logs?: EventLogs<ThreadEvent> | undefined;
}

/** One exchange on a thread: queued → running → ended, with a log anyone may read and an outcome anyone may await. */
export class Turn {
  /** Unique among all turns, even of the same thread in another process; `id` is not. */
  readonly key = newTurnKey();
  readonly log: EventLog<ThreadEvent>;
  readonly #outcome = deferred<TurnOutcome>();
  readonly #abandoned = deferred<void>();
  readonly #abort = new AbortController();
  #interruption: string | undefined;
  #overdue: NodeJS.Timeout | undefined;
  #state: "queued" | "running" | "ended" = "queued";
  readonly #since = monotonicMs();
  #begunAt: number | undefined;
  #running: { readonly since: number; ms?: number } | undefined;
  #step: ThreadEvent | undefined;
  readonly input: TurnRequest;
  readonly #observer: ThreadObserver | undefined;
  readonly #watched: ((event: ThreadEvent) => void) | undefined;

  constructor(
    readonly threadId: ThreadId,
    readonly id: TurnId,
    { observer, logs, ...input }: NewTurn,
  ) {
    this.log = logs?.create({ threadId, turn: this.key }) ?? new MemoryEventLog(TURN_LOG);
    this.input = input;
    this.#observer = observer;
    this.#watched = input.watch?.(this);
    observer?.turnQueued(this);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settles once, after the last event is in the log. Never rejects. */
  get outcome(): Promise<TurnOutcome> {
    return this.#outcome.promise;
  }

  /** Resolves when an interrupted engine did not end its turn in time and the turn was ended without it. */
  get abandoned(): Promise<void> {
    return this.#abandoned.promise;
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  /** Time since the turn was requested. */
  get ms(): number {
    return monotonicMs() - this.#since;
  }

  /** When the engine received the turn, in milliseconds since 1970; undefined while it waits behind another turn. */
  get begunAt(): number | undefined {
    return this.#begunAt;
  }

  /** How long the engine has run the turn; 0 while it waits behind another turn. Clock changes do not affect it. */
  get ranMs(): number {
    const running = this.#running;
    return running ? (running.ms ?? monotonicMs() - running.since) : 0;
  }

  /** The last event that began a step, which is what the turn is doing now. */
  get step(): ThreadEvent | undefined {
    return this.#step;
  }

  /** Called right before the engine runs the turn. False when it was interrupted before. */
  begin(): boolean {
    if (this.#state !== "queued") return false;
    this.#state = "running";
    this.#begunAt = Date.now();
    this.#running = { since: monotonicMs() };
    this.#observer?.turnBegun(this);
    return true;
  }

  publish(events: readonly ThreadEvent[]): void {
    if (this.#state === "ended") return;
    this.log.append(events);
    for (const event of events) {
      this.#watched?.(event);
      if (STEPS.has(event.type) && !isPrompt(event)) this.#step = event;
      if (event.type === "approvalRequested") this.#observer?.questionAsked(this, event.request);
      else if (event.type === "approvalDecided") this.#observer?.questionAnswered(this, event);
    }
    const last = events.at(-1);
    if (last && isTurnEnd(last)) this.#end(last);
  }

  /** Why it was interrupted, if its caller may not know the reason. */
  get interruption(): string | undefined {
    return this.#interruption;
  }

  /** Asks the engine to stop; the turn ends soon, whatever the engine does. Harmless after the end. */
  interrupt(why?: string): void {
    if (this.#state === "ended" || this.signal.aborted) return;
    this.#interruption = why;
    if (this.#state === "running") this.#overdue = setTimeout(() => this.#abandon(), INTERRUPT_GRACE_MS);
    else this.#endInterrupted();
    this.#abort.abort(new Error("the turn was interrupted"));
  }

  #abandon(): void {
    this.#endInterrupted();
    this.#abandoned.resolve();
  }

  #endInterrupted(): void {
    this.publish([{ type: "turnAborted", reason: "interrupted" }]);
  }

  #end(end: TurnEnd): void {
    this.#state = "ended";
    if (this.#running) this.#running.ms = this.ranMs;
    clearTimeout(this.#overdue);
    this.log.end();
    const outcome = outcomeOf(end);
    this.#outcome.resolve(outcome);
    this.#observer?.turnEnded(this, outcome);
  }
}

const STEPS: ReadonlySet<ThreadEvent["type"]> = new Set([
  "turnStarted",
  "itemStarted",
  "planUpdated",
  "commandStarted",
  "patchStarted",
  "mcpToolStarted",
  "approvalRequested",
  "approvalDecided",
  "modelRetry",
  "historyCompacted",
  "reviewStarted",
]);

/** A user message is not a step of the turn. */
function isPrompt(event: ThreadEvent): boolean {
  return event.type === "itemStarted" && event.item.kind === "userMessage";
}

export function isTurnEnd(event: ThreadEvent): event is TurnEnd {
  return event.type === "turnCompleted" || event.type === "turnFailed" || event.type === "turnAborted";
}

function outcomeOf(end: TurnEnd): TurnOutcome {
  switch (end.type) {
    case "turnCompleted":
      return { status: "completed", lastMessage: end.lastMessage };
    case "turnFailed":
      return { status: "failed", message: end.message };
    case "turnAborted":
      return { status: "interrupted" };
  }
}

/** Returns the function with which a turn asks questions: they wait on the desk, and readers get each question and its decision. */
export function questionsOf(turn: Turn, desk: ApprovalDesk, tell: (events: readonly ThreadEvent[]) => void): TurnContext["ask"] {
  const { id: turnId, threadId, signal } = turn;
  const confinement = turn.input.limits?.confinement;
  return async (asked, withdrawn) => {
    if (confinement && isBeyond(confinement, asked)) return { kind: "denied", reason: beyondReason(confinement, asked), by: "ceiling" };
    const subject = confinement ? withoutAmendment(asked) : asked;
    const until = withdrawn ? AbortSignal.any([signal, withdrawn]) : signal;
    const { request, decision } = desk.ask({ threadId, turnId, subject, signal: until });
    const tellDecision = (decided: ApprovalDecision) => tell([{ type: "approvalDecided", id: request.id, decision: decided }]);
    tell([{ type: "approvalRequested", request }]);
    try {
      const decided = withinConfinement(await decision, confinement);
      tellDecision(decided);
      return decided;
    } catch (error) {
      // The turn continues without the answer, so clients that show the question must learn that it is closed.
      if (!signal.aborted) tellDecision({ kind: "denied", reason: "the question was withdrawn", by: "withdrawal" });
      throw error;
    }
  };
}

function isBeyond({ sandbox }: SandboxCeiling, subject: ApprovalSubject): boolean {
  if (subject.widensSandbox) return true;
  // A form asks for input, not for permission.
  if (subject.kind === "form" || subject.staysInSandbox) return false;
  return !(subject.kind === "patch" && subject.staysInWorkspace === true && sandbox === "workspace-write");
}

/** Why nobody can allow it, not even a person. If no sandbox works, the advice to stay inside it would be wrong. */
function beyondReason({ reason, sandbox }: SandboxCeiling, { lacksSandbox }: ApprovalSubject): string {
  if (!lacksSandbox) return reason;
  const ceiling = `no approval reaches beyond the ceiling of this server (--max-sandbox ${sandbox})`;
  return `no sandbox works on this machine, and ${ceiling}, so no command runs; ${SANDBOX_REMEDY}`;
}

/** Commands that are approved by their prefix run outside the sandbox, so a confined turn does not offer that. */
function withoutAmendment(subject: ApprovalSubject): ApprovalSubject {
  if (subject.kind !== "command") return subject;
  const { proposedPrefix: _, ...rest } = subject;
  return rest;
}

function withinConfinement(decision: ApprovalDecision, confinement: SandboxCeiling | undefined): ApprovalDecision {
  if (!confinement || decision.kind !== "approvedPrefix") return decision;
  return { kind: "denied", reason: `commands cannot be approved by prefix: ${confinement.reason}`, by: "ceiling" };
}
