import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import { type Deferred, deferred, endsWithin, Mailbox } from "../../lib/promises.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent, TurnInput } from "../../threads/events.js";
import type { ThreadListener, ThreadRequest } from "./appServer/appServer.js";
import type { AppServerGone } from "./appServer/errors.js";
import { asFields, asText } from "./appServer/read.js";
import { type CodexQuestion, OpenQuestions, TURN_IS_OVER } from "./openQuestions.js";
import type { AgentFollower, SubAgent, SubAgents } from "./subAgents.js";
import { approvalAnswer, serverRequest } from "./translate/serverRequests.js";
import { type TurnEnding, type TurnTranslator, turnEndOf } from "./translate/turnTranslator.js";
import { addTurn, continueTurn, startTurn, steerTurn, stopTurn, type ThreadInCodex } from "./turnRequests.js";
import { LateMessages, StallWatch, stallLimits } from "./turnWatch.js";

/** An interrupted turn is reported as ended after this time, whatever Codex does; `Turn` itself waits a little longer. */
const INTERRUPT_MS = 1_500;

/** The longest delay before Codex begins announced work: another agent's work, or the next turn for a goal. */
const BEGINNING_MS = 5_000;

interface CodexTurnParts {
  readonly thread: ThreadInCodex;
  readonly agents: Pick<SubAgents, "atWork" | "threadIds" | "checkDue">;
  readonly translator: TurnTranslator;
  /** Whether a question is approved without asking. */
  readonly needsNobody: (method: string, params: unknown) => Promise<boolean>;
  /** Takes over work that remains when the turn may already be reported as ended. */
  readonly afterwards: (work: Promise<unknown>) => void;
}

/** One turn request in Codex; a turn that continues makes a second one. */
interface TurnInCodex {
  /** Its id, once accepted. */
  readonly started: Promise<string>;
  readonly completed: Deferred<void>;
}

type Happening =
  | { readonly kind: "shown"; readonly events: readonly ThreadEvent[] }
  | { readonly kind: "asked"; readonly question: CodexQuestion }
  | { readonly kind: "ended"; readonly ending: TurnEnding };

/**
 * One turn of Codex, until nothing of it is left. Turns Codex's messages into batches of events and asks its questions in between, in
 * order.
 */
export class CodexTurn implements ThreadListener, AgentFollower {
  /**
   * `starting` until Codex accepts the turn, then `running`. `awaiting`: Codex has ended it, but other agents still work for it.
   * `stopping`: the interrupt was sent to Codex. `over`: its end is known, and nothing more is shown. A turn that continues because of the user's
   * last message, or of other agents' results, starts again.
   */
  #state: "starting" | "running" | "awaiting" | "stopping" | "over" = "starting";
  readonly #input: TurnInput;
  readonly #ctx: TurnContext;
  readonly #parts: CodexTurnParts;
  readonly #inbox = new Mailbox<Happening>();
  readonly #questions: OpenQuestions;
  readonly #lateMessages = new LateMessages();
  readonly #stallWatch: StallWatch;
  #inCodex: TurnInCodex | undefined;
  /** Codex starts the next turn by itself until its goal is reached. */
  #hasGoal = false;
  #beginning: NodeJS.Timeout | undefined;
  /** Settles when nothing of the turn runs in Codex any more; undefined until the interrupt is sent. */
  #stopped: Promise<void> | undefined;

  constructor(input: TurnInput, ctx: TurnContext, parts: CodexTurnParts) {
    this.#input = input;
    this.#ctx = ctx;
    this.#parts = parts;
    this.#questions = new OpenQuestions({
      ask: (subject, withdrawn) => ctx.ask(subject, withdrawn),
      signal: ctx.signal,
      say: (text, question) => this.#say(text, question),
    });
    const { server, settings } = parts.thread;
    this.#stallWatch = new StallWatch(stallLimits(settings), {
      isExcused: () => this.#questions.isAsking,
      waiting: () => parts.afterwards(server.checkAlive()),
      stalled: (message) => this.#stop({ kind: "failed", message }),
    });
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /** Starts the turn and yields everything that happens, its end last. */
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
      clearTimeout(this.#beginning);
      signal.removeEventListener("abort", interrupt);
    }
  }

  notified(method: string, params: unknown): void {
    if (this.#state !== "over") {
      this.#stallWatch.observe(method, params);
      this.#lateMessages.observe(method, params);
      this.#show(this.#parts.translator.notification(method, params));
    }
    if (method === "serverRequest/resolved") this.#questions.withdraw(params);
    if (method === "thread/goal/updated") this.#hasGoal = asFields(asFields(params)["goal"])["status"] === "active";
    if (method === "thread/goal/cleared") this.#hasGoal = false;
    if (method === "turn/started" && this.#state === "awaiting")
      this.#begin(Promise.resolve(asText(asFields(asFields(params)["turn"])["id"])));
    if (method === "turn/completed") this.#completed(turnEndOf(params));
  }

  asked(request: ThreadRequest): Promise<unknown> {
    return this.#asked(request, undefined);
  }

  agentShown(events: readonly ThreadEvent[]): void {
    if (this.#state !== "over") this.#show(events);
  }

  agentNotified(method: string, params: unknown): void {
    if (this.#state !== "over") this.#stallWatch.observe(method, params);
    if (method === "serverRequest/resolved") this.#questions.withdraw(params);
  }

  agentAsked(agent: SubAgent, request: ThreadRequest): Promise<unknown> {
    return this.#asked(request, agent);
  }

  /** Their results wait for the thread's agent, which ended its turn before. */
  agentsSettled(): void {
    if (this.#state !== "awaiting" || this.#hasGoal) return;
    // Reviews and summaries report their results by themselves.
    if (this.#input.work) this.#end({ kind: "completed" });
    else this.#begin(continueTurn(this.#parts.thread));
  }

  async #asked(request: ThreadRequest, agent: SubAgent | undefined): Promise<unknown> {
    const { method, params } = request;
    const { translator, thread } = this.#parts;
    const items = agent?.openItems ?? translator.openItems;
    const reaction = serverRequest(method, params, { items, settings: thread.settings, asker: agent?.name });
    if (reaction.kind === "answer") return reaction.result;
    if (reaction.kind === "refuse") throw new RpcError(RPC.methodNotFound, reaction.message);
    if (await this.#parts.needsNobody(method, params)) return approvalAnswer(method, params, { kind: "approved" });
    if (this.#state === "over") throw TURN_IS_OVER;
    const question = this.#questions.open(reaction, request, agent);
    this.#show((agent ?? translator).asked(params));
    this.#inbox.put({ kind: "asked", question });
    return this.#questions.answered(question);
  }

  /** False when Codex accepts no more input for the turn. */
  async steer(text: string): Promise<boolean> {
    if (this.#input.work || !this.#inCodex || !this.#isAtWork) return false;
    if (this.#state === "awaiting") return addTurn(text, this.#parts.thread);
    return steerTurn(text, { ...this.#parts.thread, started: this.#inCodex.started });
  }

  lost(reason: AppServerGone): void {
    this.#end({ kind: "failed", message: `${reason.message} The thread can be continued.` });
  }

  get #isAtWork(): boolean {
    return this.#state === "starting" || this.#state === "running" || this.#state === "awaiting";
  }

  #begin(started: Promise<string>): void {
    clearTimeout(this.#beginning);
    this.#state = "starting";
    this.#inCodex = { started, completed: deferred<void>() };
    started.then(
      () => {
        if (this.#state === "starting") this.#state = "running";
      },
      (error: unknown) => {
        if (error instanceof RpcError) this.#end({ kind: "failed", message: `Codex refused the turn: ${error.message}` });
        // Codex did not respond, but may still have started the turn.
        else this.#stop({ kind: "failed", message: describe(error) });
      },
    );
  }

  /** Codex reports that the turn is over. */
  #completed(ending: TurnEnding): void {
    this.#inCodex?.completed.resolve();
    // Work left running by an interrupted turn is stopped before its end is reported; so are the agents of a failed turn.
    if (ending.kind === "interrupted") return this.#stop(ending);
    if (!this.#isAtWork) return;
    const { agents, thread } = this.#parts;
    if (ending.kind === "failed") return agents.atWork.length > 0 ? this.#stop(ending) : this.#end(ending);
    if (this.#lateMessages.takeUnanswered()) this.#begin(continueTurn(thread));
    else if (agents.atWork.length > 0 || this.#hasGoal) this.#await();
    else this.#end(ending);
  }

  /** Codex has ended the turn, but not its work. */
  #await(): void {
    this.#state = "awaiting";
    const names = this.#parts.agents.atWork.join(", ");
    if (names !== "") this.#show([{ type: "backgroundNote", message: `Waiting for agents that are still at work: ${names}` }]);
    this.#expectBeginning();
  }

  #expectBeginning(): void {
    const { agents, afterwards } = this.#parts;
    this.#beginning = setTimeout(() => {
      if (this.#state !== "awaiting") return;
      if (agents.atWork.length === 0) return this.#end({ kind: "completed" });
      afterwards(agents.checkDue());
      this.#expectBeginning();
    }, BEGINNING_MS);
  }

  /** Runs once. Even a turn whose end is known may have left commands running, so it is interrupted too. */
  #stop(ending: TurnEnding): void {
    if (this.#stopped || !this.#inCodex) return;
    if (this.#isAtWork) this.#state = "stopping";
    const { thread, afterwards } = this.#parts;
    const { started, completed } = this.#inCodex;
    const agents = () => this.#parts.agents.threadIds;
    this.#stopped = stopTurn({ ...thread, started, completed: completed.promise, agents, hasGoal: this.#hasGoal });
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

  /** Yields everything but the end, which is returned once no question is open. */
  async *#events(): AsyncGenerator<readonly ThreadEvent[], TurnEnding> {
    let ending: TurnEnding | undefined;
    try {
      for await (const batch of this.#inbox.batches()) {
        ending = yield* this.#play(batch);
        if (ending) break;
      }
      return ending ?? INTERRUPTED;
    } finally {
      // A turn without a follower must not continue by itself.
      if (!ending) this.#stop(INTERRUPTED);
      this.#state = "over";
      // No question is open when the end is reported.
      await this.#questions.end();
    }
  }

  #show(events: readonly ThreadEvent[]): void {
    if (events.length > 0) this.#inbox.put({ kind: "shown", events });
  }

  /** Events that a question refers to are published before the question. */
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

  #ask(question: CodexQuestion): void {
    void this.#questions.ask(question).then((decision) => {
      // Codex would end only the turn of that agent.
      if (question.agent && decision.kind === "abort") this.#stop(INTERRUPTED);
    });
  }

  /** Sends the text to the agent that asks. */
  #say(text: string, { agent, request }: CodexQuestion): Promise<boolean> {
    if (!agent) return this.steer(text);
    const started = Promise.resolve(asText(asFields(request.params)["turnId"]));
    return steerTurn(text, { server: this.#parts.thread.server, codexThreadId: agent.threadId, started });
  }
}

const INTERRUPTED: TurnEnding = { kind: "interrupted" };
