import { denialRemark } from "../../approvals/denials.js";
import type { ApprovalDecision, ApprovalSubject } from "../../approvals/model.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { isRequestId, type RequestId } from "../../jsonrpc/message.js";
import { isFields } from "../../lib/fields.js";
import { type Deferred, deferred, valueWithin } from "../../lib/promises.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadRequest } from "./appServer/appServer.js";
import type { SubAgent } from "./subAgents.js";
import type { ServerReaction } from "./translate/questions.js";
import { approvalAnswer } from "./translate/serverRequests.js";

/** A request of Codex that needs an answer. */
export interface CodexQuestion extends Extract<ServerReaction, { readonly kind: "ask" }> {
  readonly request: ThreadRequest;
  /** The asking agent, when it is not the thread's own. */
  readonly agent: SubAgent | undefined;
  readonly answer: Deferred<unknown>;
  readonly withdrawal: AbortController;
}

interface OpenQuestionsOptions extends Pick<TurnContext, "ask" | "signal"> {
  /** Adds text to the turn that asks. */
  readonly say: (text: string, question: CodexQuestion) => Promise<boolean>;
}

/** How long a denial waits for Codex to accept the text about it. */
const REMARK_MS = 5_000;

/** Codex's questions in one turn, from the request to the response. */
export class OpenQuestions {
  readonly #options: OpenQuestionsOptions;
  readonly #questions = new Map<RequestId, CodexQuestion>();
  readonly #asking = new Set<Promise<unknown>>();

  constructor(options: OpenQuestionsOptions) {
    this.#options = options;
  }

  /** A decision is pending, which may take a while. */
  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  open(reaction: Extract<ServerReaction, { readonly kind: "ask" }>, request: ThreadRequest, agent: SubAgent | undefined): CodexQuestion {
    const question = { ...reaction, request, agent, answer: deferred<unknown>(), withdrawal: new AbortController() };
    this.#questions.set(request.id, question);
    return question;
  }

  /** The response to Codex. Rejects when the turn ends first. */
  async answered({ request, answer }: CodexQuestion): Promise<unknown> {
    try {
      return await answer.promise;
    } finally {
      this.#questions.delete(request.id);
    }
  }

  /** Asks for a decision and responds to Codex. Never rejects. */
  ask(question: CodexQuestion): Promise<ApprovalDecision> {
    const { ask, signal } = this.#options;
    const { method, params } = question.request;
    const asking: Promise<ApprovalDecision> = ask(question.subject, question.withdrawal.signal)
      .catch((): ApprovalDecision => ({ kind: signal.aborted ? "abort" : "denied" }))
      .then(async (decision) => {
        await this.#tellWhy(question, decision);
        question.answer.resolve(approvalAnswer(method, params, decision));
        return decision;
      })
      .finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
    return asking;
  }

  /**
   * Codex has no field for the reason of a denial, and tells its model that the user refused. Text added to the turn before the denial
   * reaches the model together with it.
   */
  async #tellWhy(question: CodexQuestion, decision: ApprovalDecision): Promise<void> {
    const { signal, say } = this.#options;
    const remark = decision.kind === "denied" ? denialRemark(gistOf(question.subject), decision) : undefined;
    if (remark === undefined || signal.aborted) return;
    const said = say(remark, question).catch(() => false);
    await valueWithin(REMARK_MS, said, false);
  }

  /** Codex no longer needs an answer to the question. */
  withdraw(params: unknown): void {
    const id = isFields(params) ? params["requestId"] : undefined;
    if (isRequestId(id)) this.#questions.get(id)?.withdrawal.abort(new Error("the question was answered elsewhere"));
  }

  /** Settles the open questions, whose turn is over. */
  async end(): Promise<void> {
    for (const { withdrawal } of this.#questions.values()) withdrawal.abort(TURN_IS_OVER);
    await Promise.all(this.#asking);
    for (const { answer } of this.#questions.values()) answer.reject(TURN_IS_OVER);
  }
}

export const TURN_IS_OVER = new RpcError(RPC.invalidRequest, "the turn is over");

const GIST_LENGTH = 200;

/** The subject as part of a sentence. */
function gistOf(subject: ApprovalSubject): string {
  switch (subject.kind) {
    case "command":
      return `\`${shortened(subject.commandText)}\``;
    case "patch":
      return `the change of ${shortened(Object.keys(subject.changes).join(", "))}`;
    case "form":
      return `what ${subject.server} asked for`;
  }
}

function shortened(text: string): string {
  return text.length > GIST_LENGTH ? `${text.slice(0, GIST_LENGTH)}…` : text;
}
