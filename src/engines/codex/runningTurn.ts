import type { ApprovalDecision } from "../../approvals/model.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { isRequestId, type RequestId } from "../../jsonrpc/message.js";
import { type Deferred, deferred } from "../../lib/deferred.js";
import { isFields } from "../../lib/fields.js";
import { Mailbox } from "../../lib/mailbox.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { ThreadListener, ThreadRequest } from "./appServer.js";
import type { AppServerGone } from "./errors.js";
import type { ServerReaction } from "./translate/questions.js";
import { approvalAnswer, serverRequest } from "./translate/serverRequests.js";
import { type TurnEnding, type TurnTranslator, turnEndOf } from "./translate/turnTranslator.js";

type Asked = Extract<ServerReaction, { readonly kind: "ask" }>;

interface Question extends Asked {
  readonly request: ThreadRequest;
  readonly answer: Deferred<unknown>;
  readonly withdrawal: AbortController;
}

type Happening =
  | { readonly kind: "shown"; readonly events: readonly ThreadEvent[] }
  | { readonly kind: "asked"; readonly question: Question }
  | { readonly kind: "ended"; readonly ending: TurnEnding };

export interface TurnRoles {
  readonly translator: TurnTranslator;
  readonly settings: ThreadSettings;
  readonly ctx: TurnContext;
  /** Sees every message first. */
  readonly observe: (method: string, params: unknown) => void;
  /** False when Codex takes nothing into the turn any more. */
  readonly steer: (text: string) => Promise<boolean>;
  /** Codex says that the turn is over. */
  readonly completed: (ending: TurnEnding) => void;
}

/** A turn while Codex works on it: from Codex's messages to batches of events, with its questions asked in between, in order. */
export class RunningTurn implements ThreadListener {
  readonly #inbox = new Mailbox<Happening>();
  /** What Codex waits for an answer to. */
  readonly #questions = new Map<RequestId, Question>();
  readonly #asking = new Set<Promise<void>>();
  #state: "running" | "over" = "running";

  constructor(private readonly roles: TurnRoles) {}

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** Somebody decides about a question, which may take a while. */
  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  notified(method: string, params: unknown): void {
    if (this.#state === "running") {
      this.roles.observe(method, params);
      this.#show(this.roles.translator.notification(method, params));
    }
    if (method === "serverRequest/resolved") this.#withdraw(params);
    if (method === "turn/completed") this.roles.completed(turnEndOf(params));
  }

  async asked(request: ThreadRequest): Promise<unknown> {
    const { method, params } = request;
    const { translator, settings } = this.roles;
    const reaction = serverRequest(method, params, { items: translator.openItems, settings });
    if (reaction.kind === "answer") return reaction.result;
    if (reaction.kind === "refuse") throw new RpcError(RPC.methodNotFound, reaction.message);
    if (this.#state === "over") throw TURN_IS_OVER;
    const question = { ...reaction, request, answer: deferred<unknown>(), withdrawal: new AbortController() };
    this.#questions.set(request.id, question);
    this.#show(translator.asked(params));
    this.#inbox.put({ kind: "asked", question });
    try {
      return await question.answer.promise;
    } finally {
      this.#questions.delete(request.id);
    }
  }

  async steer(text: string): Promise<boolean> {
    return this.#state === "running" && this.roles.steer(text);
  }

  lost(reason: AppServerGone): void {
    this.end({ kind: "failed", message: `${reason.message} The thread can be continued.` });
  }

  /** The first end counts; nothing is shown after it. */
  end(ending: TurnEnding): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#inbox.put({ kind: "ended", ending });
    this.#inbox.close();
  }

  /** Everything but the end, which is returned once nothing is asked any more. */
  async *events(): AsyncGenerator<readonly ThreadEvent[], TurnEnding> {
    try {
      for await (const batch of this.#inbox.batches()) {
        const ending = yield* this.#play(batch);
        if (ending) return ending;
      }
      return { kind: "interrupted" };
    } finally {
      // A turn that nobody reads any more is over too. Questions that are still open have lost it, and are gone before its end is told.
      this.#state = "over";
      for (const { withdrawal } of this.#questions.values()) withdrawal.abort(TURN_IS_OVER);
      await Promise.all(this.#asking);
      for (const { answer } of this.#questions.values()) answer.reject(TURN_IS_OVER);
    }
  }

  #show(events: readonly ThreadEvent[]): void {
    if (events.length > 0) this.#inbox.put({ kind: "shown", events });
  }

  /** What a question needs to be understood is told before the question is. */
  async *#play(batch: readonly Happening[]): AsyncGenerator<readonly ThreadEvent[], TurnEnding | undefined> {
    let events: ThreadEvent[] = [];
    for (const happening of batch) {
      if (happening.kind === "shown") {
        for (const event of happening.events) events.push(event);
        continue;
      }
      if (events.length > 0) yield events;
      events = [];
      if (happening.kind === "ended") return happening.ending;
      this.#ask(happening.question);
    }
    if (events.length > 0) yield events;
    return undefined;
  }

  #ask({ subject, request: { method, params }, answer, withdrawal }: Question): void {
    const { ctx } = this.roles;
    const asking: Promise<void> = ctx
      .ask(subject, withdrawal.signal)
      .catch((): ApprovalDecision => ({ kind: ctx.signal.aborted ? "abort" : "denied" }))
      .then((decision) => answer.resolve(approvalAnswer(method, params, decision)))
      .finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
  }

  #withdraw(params: unknown): void {
    const id = isFields(params) ? params["requestId"] : undefined;
    if (isRequestId(id)) this.#questions.get(id)?.withdrawal.abort(new Error("the question was answered elsewhere"));
  }
}

const TURN_IS_OVER = new RpcError(RPC.invalidRequest, "the turn is over");
