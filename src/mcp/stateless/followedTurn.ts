import { decideWithoutClient } from "../../approvals/fallback.js";
import type { ApprovalRequest } from "../../approvals/model.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { describe } from "../../lib/errors.js";
import type { Fields } from "../../lib/fields.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import type { TurnCall } from "../tools/tool.js";
import { elicitationParams, readDecision } from "../wording/elicitation.js";
import { progressText } from "../wording/progress.js";
import type { Work, WorkEnd, WorkState } from "./work.js";

export interface FollowOptions {
  /** Of the request that the call began with. */
  readonly requestId: RequestId;
  /** Its client can be given questions. */
  readonly takesForms: boolean;
}

/** The turn of one call from its first event to its last, whether a request looks on or not: how far it is, what it asks, how it ended. */
export class FollowedTurn implements Work {
  readonly ended: Promise<WorkEnd>;
  /** The last event that a request was shown; the next request goes on from there. */
  shown = 0;
  #message = "Starting";
  #end: WorkEnd | undefined;
  #cancelled = false;
  #takesForms: boolean;
  #asked = 0;
  readonly #questions = new Map<string, ApprovalRequest>();
  readonly #watchers = new Set<() => void>();

  private constructor(
    private readonly call: TurnCall,
    private readonly options: FollowOptions,
  ) {
    this.#takesForms = options.takesForms;
    this.ended = this.#follow();
  }

  static follow(call: TurnCall, options: FollowOptions): FollowedTurn {
    return new FollowedTurn(call, options);
  }

  get turn(): Turn {
    return this.call.turn;
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
      this.call.approvals.desk.answer(question.id, { ...readDecision(response, question.subject.kind), by: "elicitation" });
    }
    this.#tell();
  }

  /** Each request says for itself what its client can; one that cannot be asked is not, also not what was asked before. */
  isFollowedBy({ takesForms }: Pick<FollowOptions, "takesForms">): void {
    this.#takesForms = takesForms;
    if (takesForms) return;
    for (const question of this.#questions.values()) this.#decideAlone(question);
    this.#questions.clear();
  }

  cancel(): void {
    this.#cancelled = true;
    this.turn.interrupt();
  }

  async #follow(): Promise<WorkEnd> {
    const end = await this.#readToTheEnd().catch((error: unknown): WorkEnd => {
      this.turn.interrupt();
      return { how: "failed", error: new RpcError(RPC.internalError, `internal error: ${describe(error)}`) };
    });
    this.#end = end;
    this.#questions.clear();
    this.#tell();
    return end;
  }

  async #readToTheEnd(): Promise<WorkEnd> {
    for await (const batch of this.turn.log.read()) {
      const [message, asked] = [this.#message, this.#questions.size];
      for (const { value } of batch) this.#take(value);
      if (this.#message !== message || this.#questions.size !== asked) this.#tell();
    }
    const outcome = await this.turn.outcome;
    const result = { ...this.call.answer(outcome, { nameThreadInText: false }) };
    return { how: this.#cancelled && outcome.status === "interrupted" ? "cancelled" : "answered", result };
  }

  #take(event: ThreadEvent): void {
    this.call.observe(event);
    this.#message = progressText(event) ?? this.#message;
    if (event.type === "approvalRequested") this.#consider(event.request);
    if (event.type === "approvalDecided") this.#forget(event.id);
  }

  #consider(question: ApprovalRequest): void {
    if (this.#takesForms) this.#questions.set(`approval-${++this.#asked}`, question);
    else this.#decideAlone(question);
  }

  /** A client of this era that did not say that it can be asked must not be, whatever the strategy. */
  #decideAlone({ id, subject }: ApprovalRequest): void {
    const { desk, fallback } = this.call.approvals;
    const decision = decideWithoutClient(subject, fallback === "ask" ? "deny" : fallback);
    if (decision) desk.answer(id, { ...decision, by: "fallback" });
  }

  #forget(id: ApprovalRequest["id"]): void {
    for (const [key, question] of this.#questions) if (question.id === id) this.#questions.delete(key);
  }

  #requests(): Fields {
    const emptyForm = this.call.approvals.emptyForms === true;
    const asForm = (question: ApprovalRequest) => ({
      method: "elicitation/create",
      params: { mode: "form", ...elicitationParams(question, this.options.requestId, { emptyForm }) },
    });
    return Object.fromEntries([...this.#questions].map(([key, question]) => [key, asForm(question)]));
  }

  #tell(): void {
    for (const changed of this.#watchers) changed();
  }
}
