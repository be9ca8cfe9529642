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

/** How something stands that goes on by itself while its client is elsewhere. */
export type WorkState =
  | { readonly at: "working"; readonly message: string }
  /** It waits for its client. The requests go by keys that are never used again. */
  | { readonly at: "asking"; readonly message: string; readonly requests: Fields }
  | { readonly at: "ended"; readonly end: WorkEnd };

export type WorkEnd =
  | { readonly how: "answered"; readonly result: Fields }
  | { readonly how: "failed"; readonly error: RpcError }
  /** Its client wanted it no longer; the result says so. */
  | { readonly how: "cancelled"; readonly result: Fields };

/** What a task is about. */
export interface Work {
  readonly state: WorkState;
  /** Settles with its end. Never rejects. */
  readonly ended: Promise<WorkEnd>;
  /** Calls back whenever the state is another, until what it returns is called. */
  watch(changed: () => void): () => void;
  /** Takes answers by key. One that nobody waits for decides nothing. */
  answer(responses: Fields): void;
  cancel(): void;
}

/** For what comes from a client. Throws the end's error, if it is one. */
export function resultOfWork(end: WorkEnd): Fields {
  if (end.how === "failed") throw end.error;
  return end.result;
}

export interface FollowOptions {
  /** Of the request that the call began with. */
  readonly requestId: RequestId;
  /** Its client can be given questions. */
  readonly canAnswer: boolean;
  /** What its client calls itself. */
  readonly client?: ClientInfo | undefined;
}

/** The turn of one call from its first event to its last, whether a request looks on or not: how far it is, what it asks, how it ended. */
export class FollowedTurn implements Work {
  readonly ended: Promise<WorkEnd>;
  /** The last event that a request was shown; the next request goes on from there. */
  shown = 0;
  #message = "Starting";
  #end: WorkEnd | undefined;
  #cancelled = false;
  #canAnswer: boolean;
  #asked = 0;
  #answersByItself = false;
  readonly #questions = new Map<string, ApprovalRequest>();
  /** When they were first shown, by the same keys. */
  readonly #shownAt = new Map<string, number>();
  /** Questions that wait for somebody else than the client. */
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

  /** How its requests may leave the turn; undefined where a call lasts as long as its turn. */
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

  /** What the first progress says that any request is shown. */
  get startText(): string | undefined {
    return this.shown === 0 ? this.#call.startText : undefined;
  }

  get state(): WorkState {
    if (this.#end) return { at: "ended", end: this.#end };
    if (this.#questions.size > 0) return { at: "asking", message: this.#message, requests: this.#requests() };
    return { at: "working", message: this.#message };
  }

  /** When the first of the open questions is decided without its client; milliseconds since 1970. */
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
      if (taken === "left open") this.#held.set(question.id, question);
      this.#shownAt.delete(key);
    }
    this.#tell();
  }

  /** Whoever followed it answered a question without asking anybody; none is put to them again. */
  get answersByItself(): boolean {
    return this.#answersByItself;
  }

  /** Each request says for itself what its client can. Questions that a client cannot answer are decided for it, those that are open included. */
  isFollowedBy({ canAnswer }: Pick<FollowOptions, "canAnswer">): void {
    this.#canAnswer = canAnswer;
    if (canAnswer) return;
    const open = [...this.#questions.values()];
    this.#questions.clear();
    for (const question of open) this.#consider(question);
  }

  cancel(): void {
    this.#cancelled = true;
    this.turn.interrupt();
  }

  /** Nobody follows the turn here any more; it goes on. */
  leave(): void {
    this.#left.abort();
  }

  /** The answer of a request that leaves. */
  whileRunning(): Fields {
    const { threadId, ms } = this.turn;
    const result = this.#withLost(
      runningResult({ threadId, doing: this.#message, ms, questions: this.held, console: this.#call.consoleAddress }),
    );
    this.stay?.visit.toldOf(this.held.map(({ id }) => id));
    this.stay?.answered(result);
    return { ...result };
  }

  #withLost(result: CallToolResult): CallToolResult {
    return withLostTurns(result, this.stay?.lost ?? []);
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

  /** A client of this era that did not say that it can answer must not be asked, whatever the fallback is. */
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
