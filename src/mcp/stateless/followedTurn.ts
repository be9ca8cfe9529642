import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import type { RequestId } from "../../jsonrpc/message.js";
import type { Fields } from "../../lib/fields.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import { type ClientInfo, clientProfile } from "../clientProfiles.js";
import { formFor, takeAnswer } from "../tools/answers.js";
import type { Presentation } from "../tools/sets.js";
import type { CallStay, TurnCall } from "../tools/tools.js";
import { type CallToolResult, turnResult } from "../wording/callResult.js";
import { elicitationParams } from "../wording/elicitation.js";
import { progressText } from "../wording/progress.js";
import { runningResult, withLostTurns } from "../wording/runningResult.js";

/** The state of work that continues without its client. */
export type WorkState =
  | { readonly at: "working"; readonly message: string }
  /** The work waits for its client. Each request has a key that is never reused. */
  | { readonly at: "asking"; readonly message: string; readonly requests: Fields }
  | { readonly at: "ended"; readonly end: WorkEnd };

export type WorkEnd =
  | { readonly how: "answered"; readonly result: Fields }
  | { readonly how: "failed"; readonly error: RpcError }
  /** Cancelled by its client; the result says so. */
  | { readonly how: "cancelled"; readonly result: Fields };

/** The work of a task. */
export interface Work {
  readonly state: WorkState;
  /** Resolves when the work ends. Never rejects. */
  readonly ended: Promise<WorkEnd>;
  /** Calls back on every change of the state, until the returned function is called. */
  watch(changed: () => void): () => void;
  /** Takes answers by key. Answers to unknown keys are ignored. */
  answer(responses: Fields): void;
  /** `why` is for others who follow the turn. */
  cancel(why?: string): void;
}

/** The result to send to the client. Throws if the work failed. */
export function resultOfWork(end: WorkEnd): Fields {
  if (end.how === "failed") throw end.error;
  return end.result;
}

export interface FollowOptions {
  /** The id of the call's first request. */
  readonly requestId: RequestId;
  /** Whether the client can answer questions. */
  readonly canAnswer: boolean;
  /** The client's name and version. */
  readonly client?: ClientInfo | undefined;
}

/**
 * Follows the turn of one call from its first event to its last, with or without a request attached: its progress, its questions and its
 * end.
 */
export class FollowedTurn implements Work {
  readonly ended: Promise<WorkEnd>;
  /** The last event that was shown; the next request continues from there. */
  shown = 0;
  #message = "Starting";
  #end: WorkEnd | undefined;
  #cancelled = false;
  #canAnswer: boolean;
  #asked = 0;
  #answersByItself = false;
  readonly #questions = new Map<string, ApprovalRequest>();
  /** When each question was first shown, by the same keys. */
  readonly #shownAt = new Map<string, number>();
  /** Questions that someone other than the client has to answer. */
  readonly #held = new Map<ApprovalId, ApprovalRequest>();
  readonly #left = new AbortController();
  readonly #watchers = new Set<() => void>();

  readonly #call: TurnCall;
  readonly #requestId: RequestId;
  readonly #client: ClientInfo | undefined;

  constructor(call: TurnCall, { requestId, canAnswer, client }: FollowOptions) {
    this.#call = call;
    this.#requestId = requestId;
    this.#canAnswer = canAnswer;
    this.#client = client;
    this.ended = this.#follow();
  }

  /** The rules by which requests may leave the turn; undefined if a call lasts as long as its turn. */
  get stay(): CallStay | undefined {
    return this.#call.stay;
  }

  get held(): readonly ApprovalRequest[] {
    return [...this.#held.values()];
  }

  get turn(): Turn {
    return this.#call.turn;
  }

  get presentation(): Presentation {
    return this.#call.presentation;
  }

  /** The text of the first progress notification. */
  get startText(): string | undefined {
    return this.shown === 0 ? this.#call.startText : undefined;
  }

  get state(): WorkState {
    if (this.#end) return { at: "ended", end: this.#end };
    if (this.#questions.size > 0) return { at: "asking", message: this.#message, requests: this.#requests() };
    return { at: "working", message: this.#message };
  }

  /** When the first open question expires; milliseconds since 1970. */
  get deadline(): number {
    return Math.min(...[...this.#questions.values()].map(({ deadline }) => deadline));
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  answer(responses: Fields): void {
    for (const [key, response] of Object.entries(responses)) {
      const question = this.#questions.get(key);
      if (!question) continue;
      this.#questions.delete(key);
      const now = performance.now();
      const given = { request: question, answer: response, afterMs: now - (this.#shownAt.get(key) ?? now) };
      const { agent, presentation } = this.#call;
      const taken = takeAnswer(given, { agent, style: presentation.results });
      if (taken !== "taken") this.#answersByItself = true;
      if (taken === "left-open") this.#held.set(question.id, question);
      this.#shownAt.delete(key);
    }
    this.#tell();
  }

  /** The client answered a question without asking a person, so it is not asked again. */
  get answersByItself(): boolean {
    return this.#answersByItself;
  }

  /**
   * Each request declares its own client capabilities. A client that cannot answer forms is not asked, and questions already open are
   * decided for it.
   */
  isFollowedBy({ canAnswer }: Pick<FollowOptions, "canAnswer">): void {
    this.#canAnswer = canAnswer;
    if (canAnswer) return;
    const open = [...this.#questions.values()];
    this.#questions.clear();
    for (const question of open) this.#consider(question);
  }

  cancel(why = "its client cancelled it"): void {
    this.#cancelled = true;
    this.turn.interrupt(why);
  }

  /** Stops following the turn, which continues. */
  leave(): void {
    this.#left.abort();
  }

  /** The result of a request that leaves. */
  whileRunning(): Fields {
    const { threadId, ms, begunAt } = this.turn;
    const { consoleAddress, remarks } = this.#call;
    const result = this.#withLost(
      runningResult({
        threadId,
        doing: this.#message,
        ms,
        isQueued: begunAt === undefined,
        questions: this.held,
        console: consoleAddress,
        remarks,
      }),
    );
    this.stay?.visit.reported(this.held.map(({ id }) => id));
    this.stay?.answered(result);
    return { ...result };
  }

  #withLost(result: CallToolResult): CallToolResult {
    const lost = this.stay?.lost ?? [];
    return lost.length === 0 ? result : withLostTurns(result, lost);
  }

  async #follow(): Promise<WorkEnd> {
    const end = await this.#readToTheEnd().catch((): WorkEnd => {
      this.turn.interrupt();
      return { how: "failed", error: new RpcError(RPC.internalError, "internal error: the turn could not be followed to its end") };
    });
    this.#end = end;
    this.#questions.clear();
    this.#held.clear();
    this.#tell();
    return end;
  }

  async #readToTheEnd(): Promise<WorkEnd> {
    for await (const batch of this.turn.log.read({ signal: this.#left.signal })) {
      const [message, asked, held] = [this.#message, this.#questions.size, this.#held.size];
      for (const { value } of batch) this.#take(value);
      if (this.#message !== message || this.#questions.size !== asked || this.#held.size !== held) this.#tell();
    }
    const outcome = await this.turn.outcome;
    const { agent, presentation, ifSilent, remarks, present } = this.#call;
    const { results } = presentation;
    const context = {
      threadId: this.turn.threadId,
      engine: agent.engineName,
      receipt: await agent.receiptOf(this.turn),
      ifSilent,
      reader: { client: clientProfile(this.#client), takesStructured: true },
      results,
      remarks,
      interruption: this.turn.interruption,
      neverBegan: this.turn.begunAt === undefined,
      present,
      resultTokens: this.#call.resultTokens,
    };
    const result = this.#withLost(turnResult(outcome, context));
    if (!this.#left.signal.aborted) this.stay?.answered(result);
    return { how: this.#cancelled && outcome.status === "interrupted" ? "cancelled" : "answered", result: { ...result } };
  }

  #take(event: ThreadEvent): void {
    this.#message = progressText(event) ?? this.#message;
    if (event.type === "approvalRequested") this.#consider(event.request);
    if (event.type === "approvalDecided") this.#forget(event.id);
  }

  /** A client of this era that does not declare elicitation must not be asked, whatever the fallback is. */
  #consider(question: ApprovalRequest): void {
    if (this.#call.agent.mustAsk(question, { canAnswer: this.#canAnswer && !this.#answersByItself, askAnyway: false }))
      this.#questions.set(`approval-${++this.#asked}`, question);
    else this.#held.set(question.id, question);
  }

  #forget(id: ApprovalRequest["id"]): void {
    this.#held.delete(id);
    for (const [key, question] of this.#questions) if (question.id === id) this.#questions.delete(key);
  }

  #requests(): Fields {
    const { emptyForms, presentation } = this.#call;
    const form = formFor(this.#client, { emptyForms, style: presentation.results });
    const asForm = (question: ApprovalRequest) => ({
      method: "elicitation/create",
      params: { mode: "form", ...elicitationParams(question, this.#requestId, form) },
    });
    for (const key of this.#questions.keys()) if (!this.#shownAt.has(key)) this.#shownAt.set(key, performance.now());
    return Object.fromEntries([...this.#questions].map(([key, question]) => [key, asForm(question)]));
  }

  #tell(): void {
    for (const changed of this.#watchers) changed();
  }
}
