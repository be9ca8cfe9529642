import { denialRemark } from "../../approvals/denials.js";
import type { ApprovalDecision, ApprovalSubject } from "../../approvals/model.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { isRequestId, type RequestId } from "../../jsonrpc/message.js";
import { describe } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { type Deferred, deferred, endsWithin, Mailbox, valueWithin } from "../../lib/promises.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent, TurnInput } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { ThreadListener, ThreadRequest } from "./appServer/appServer.js";
import type { AppServerGone } from "./appServer/errors.js";
import type { ServerReaction } from "./translate/questions.js";
import { approvalAnswer, serverRequest } from "./translate/serverRequests.js";
import { type TurnEnding, type TurnTranslator, turnEndOf } from "./translate/turnTranslator.js";
import { continueTurn, startTurn, steerTurn, stopTurn, type ThreadInCodex } from "./turnRequests.js";
import { LateMessages, type StallLimits, StallWatch } from "./turnWatch.js";

/** An interrupted turn is told as ended after so long, whatever Codex does; `Turn` itself waits a little longer. */
const INTERRUPT_MS = 1_500;
/** A denial waits so long for Codex to take the words about it. */
const REMARK_MS = 5_000;
/** Beyond what Codex itself waits for a word of the model. */
const SILENCE_MARGIN_MS = 60_000;
/** How long Codex may say the same thing again and again: that it waits for a network, for instance. */
const REPETITION_MS = 120_000;

interface CodexTurnParts {
  readonly thread: ThreadInCodex;
  readonly translator: TurnTranslator;
  /** Gets what is still to be done when the turn may already be told as ended. */
  readonly afterwards: (work: Promise<unknown>) => void;
}

/** What one request for a turn has come to in Codex; a turn that goes on makes a second one. */
interface TurnInCodex {
  /** Its id, once it is accepted. */
  readonly started: Promise<string>;
  readonly completed: Deferred<void>;
}

interface PendingQuestion extends Extract<ServerReaction, { readonly kind: "ask" }> {
  readonly request: ThreadRequest;
  readonly answer: Deferred<unknown>;
  readonly withdrawal: AbortController;
}

type Happening =
  | { readonly kind: "shown"; readonly events: readonly ThreadEvent[] }
  | { readonly kind: "asked"; readonly question: PendingQuestion }
  | { readonly kind: "ended"; readonly ending: TurnEnding };

/**
 * One turn of Codex, from its start until nothing of it is left: from Codex's messages to batches of events, with its questions asked in
 * between, in order.
 */
export class CodexTurn implements ThreadListener {
  /**
   * Starting until Codex accepts it, then running; stopping once Codex is told to end it; over as soon as its end is known, after which
   * nothing is shown. A turn that goes on because of what the user said last starts again.
   */
  #state: "starting" | "running" | "stopping" | "over" = "starting";
  readonly #input: TurnInput;
  readonly #ctx: TurnContext;
  readonly #parts: CodexTurnParts;
  readonly #inbox = new Mailbox<Happening>();
  /** What Codex waits for an answer to. */
  readonly #questions = new Map<RequestId, PendingQuestion>();
  readonly #asking = new Set<Promise<void>>();
  readonly #lateMessages = new LateMessages();
  readonly #stallWatch: StallWatch;
  #inCodex: TurnInCodex | undefined;
  /** Settles when nothing of it runs in Codex any more; undefined until Codex is told to stop. */
  #stopped: Promise<void> | undefined;

  constructor(input: TurnInput, ctx: TurnContext, parts: CodexTurnParts) {
    this.#input = input;
    this.#ctx = ctx;
    this.#parts = parts;
    const { server, settings } = parts.thread;
    this.#stallWatch = new StallWatch(limitsFor(settings), {
      // Somebody decides about a question, which may take a while.
      isExcused: () => this.#asking.size > 0,
      waiting: () => parts.afterwards(server.checkAlive()),
      stalled: (message) => this.#stop({ kind: "failed", message }),
    });
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /** Begins it, and tells everything that happens, its end last. */
  async *run(): AsyncGenerator<readonly ThreadEvent[]> {
    const { translator, thread } = this.#parts;
    const { signal } = this.#ctx;
    const interrupt = () => this.#stop(INTERRUPTED);
    this.#stallWatch.start();
    this.#begin(startTurn(this.#input, thread));
    signal.addEventListener("abort", interrupt, { once: true });
    try {
      const ending = yield* this.#events();
      yield translator.end(signal.aborted ? INTERRUPTED : ending);
    } finally {
      this.#stallWatch.stop();
      signal.removeEventListener("abort", interrupt);
    }
  }

  notified(method: string, params: unknown): void {
    if (this.#state !== "over") {
      this.#stallWatch.observe(method, params);
      this.#lateMessages.observe(method, params);
      this.#show(this.#parts.translator.notification(method, params));
    }
    if (method === "serverRequest/resolved") this.#withdraw(params);
    if (method === "turn/completed") this.#completed(turnEndOf(params));
  }

  async asked(request: ThreadRequest): Promise<unknown> {
    const { method, params } = request;
    const { translator, thread } = this.#parts;
    const reaction = serverRequest(method, params, { items: translator.openItems, settings: thread.settings });
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

  /** False when Codex takes nothing into the turn any more. */
  async steer(text: string): Promise<boolean> {
    if (this.#input.work || !this.#inCodex || !this.#isAtWork) return false;
    return steerTurn(text, { ...this.#parts.thread, started: this.#inCodex.started });
  }

  lost(reason: AppServerGone): void {
    this.#end({ kind: "failed", message: `${reason.message} The thread can be continued.` });
  }

  get #isAtWork(): boolean {
    return this.#state === "starting" || this.#state === "running";
  }

  #begin(started: Promise<string>): void {
    this.#state = "starting";
    this.#inCodex = { started, completed: deferred<void>() };
    started.then(
      () => {
        if (this.#state === "starting") this.#state = "running";
      },
      (error: unknown) => {
        if (error instanceof RpcError) this.#end({ kind: "failed", message: `Codex refused the turn: ${error.message}` });
        // One that did not answer may have begun the turn all the same.
        else this.#stop({ kind: "failed", message: describe(error) });
      },
    );
  }

  /** Codex says that the turn is over. */
  #completed(ending: TurnEnding): void {
    this.#inCodex?.completed.resolve();
    // What an interrupted turn left running is ended before its end is told.
    if (ending.kind === "interrupted") this.#stop(ending);
    else if (!this.#isAtWork) return;
    else if (ending.kind === "completed" && this.#lateMessages.takeUnanswered()) this.#begin(continueTurn(this.#parts.thread));
    else this.#end(ending);
  }

  /** Once. A turn whose end is known may have left commands running: Codex is told all the same. */
  #stop(ending: TurnEnding): void {
    if (this.#stopped || !this.#inCodex) return;
    if (this.#isAtWork) this.#state = "stopping";
    const { thread, afterwards } = this.#parts;
    const { started, completed } = this.#inCodex;
    this.#stopped = stopTurn({ ...thread, started, completed: completed.promise });
    afterwards(this.#stopped);
    afterwards(endsWithin(INTERRUPT_MS, this.#stopped).then(() => this.#end(ending)));
  }

  /** The first end counts. */
  #end(ending: TurnEnding): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#inbox.put({ kind: "ended", ending });
    this.#inbox.close();
  }

  /** Everything but the end, which is returned once nothing is asked any more. */
  async *#events(): AsyncGenerator<readonly ThreadEvent[], TurnEnding> {
    let ending: TurnEnding | undefined;
    try {
      for await (const batch of this.#inbox.batches()) {
        ending = yield* this.#play(batch);
        if (ending) break;
      }
      return ending ?? INTERRUPTED;
    } finally {
      // A turn that nobody follows any more must not go on by itself.
      if (!ending) this.#stop(INTERRUPTED);
      this.#state = "over";
      // Questions that are still open have lost their turn, and are gone before its end is told.
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

  #ask({ subject, request: { method, params }, answer, withdrawal }: PendingQuestion): void {
    const ctx = this.#ctx;
    const asking: Promise<void> = ctx
      .ask(subject, withdrawal.signal)
      .catch((): ApprovalDecision => ({ kind: ctx.signal.aborted ? "abort" : "denied" }))
      .then(async (decision) => {
        await this.#tellWhy(subject, decision);
        answer.resolve(approvalAnswer(method, params, decision));
      })
      .finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
  }

  /**
   * Codex has no field for the reason of a denial, and tells its model that the user said no. What is said into the turn before the denial is answered, the
   * model reads together with it.
   */
  async #tellWhy(subject: ApprovalSubject, decision: ApprovalDecision): Promise<void> {
    const remark = decision.kind === "denied" ? denialRemark(gistOf(subject), decision) : undefined;
    if (remark === undefined || this.#ctx.signal.aborted) return;
    await valueWithin(
      REMARK_MS,
      this.steer(remark).catch(() => false),
      false,
    );
  }

  #withdraw(params: unknown): void {
    const id = isFields(params) ? params["requestId"] : undefined;
    if (isRequestId(id)) this.#questions.get(id)?.withdrawal.abort(new Error("the question was answered elsewhere"));
  }
}

const GIST_LENGTH = 200;

/** What was asked for, as part of a sentence. */
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

const TURN_IS_OVER = new RpcError(RPC.invalidRequest, "the turn is over");
const INTERRUPTED: TurnEnding = { kind: "interrupted" };

function limitsFor({ provider }: ThreadSettings): StallLimits {
  const silenceMs = provider.streamIdleTimeoutMs + SILENCE_MARGIN_MS;
  return { silenceMs, repetitionMs: Math.min(REPETITION_MS, silenceMs) };
}
