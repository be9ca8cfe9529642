import { randomUUID } from "node:crypto";
import { hasScope } from "../../agent/caller.js";
import { CallerTimedOut, ScopeMissing } from "../../agent/errors.js";
import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { type Release, Shares } from "../../lib/shares.js";
import { readTraceContext } from "../../observability/telemetry.js";
import { clientProfile } from "../clientProfiles.js";
import type { CallStay, Tools } from "../tools/tools.js";
import { lostTurn, refusal } from "../wording/callResult.js";
import type { Call } from "../wording/turnView.js";
import { FollowedTurn, resultOfWork } from "./followedTurn.js";
import { canBeAsked, EVENTS_EXTENSION, type StatelessRequest, TASKS_EXTENSION } from "./request.js";
import { type Binding, RequestStates } from "./requestState.js";
import { playRound, type RoundEnd } from "./round.js";
import type { TaskRegistry } from "./taskRegistry.js";

/** Calls that wait for their clients to come back. The same limit as for requests in flight on one channel. */
const MAX_OPEN_CALLS = 1_024;

/** One request of a call. */
interface Round {
  readonly binding: Binding;
  /** How long it waits. */
  readonly withinMs: number | undefined;
}

export interface AgentCallParts {
  readonly tools: Tools;
  readonly tasks: TaskRegistry;
  /** A call that ends within this time returns its result, even for clients that support tasks: they show it at once and keep no handle. */
  readonly taskAfterMs: number;
}

/**
 * `tools/call` without server-to-client requests. A call with questions returns them, and the client repeats it with the answers; the turn
 * waits meanwhile. For clients that support tasks, a long call becomes a task.
 */
export class AgentCalls {
  readonly #states = new RequestStates();
  readonly #open = new Map<string, { readonly call: OpenCall; readonly leave: Release }>();
  readonly #places = new Shares({ limit: MAX_OPEN_CALLS });

  readonly #parts: AgentCallParts;

  constructor(parts: AgentCallParts) {
    this.#parts = parts;
  }

  async call(request: StatelessRequest): Promise<Fields> {
    const { name, arguments: args, requestState, inputResponses = {} } = request.params;
    if (typeof name !== "string") throw invalidParams("tools/call: `name` must be a string");
    if (!isFields(inputResponses)) throw invalidParams("tools/call: `inputResponses` must be an object");
    if (!hasScope(request.caller, "call")) return { ...refusal(new ScopeMissing("call")) };
    const binding: Binding = { principal: request.caller?.principal, tool: name, args };
    if (requestState === undefined) return this.#begin(request, binding);
    const open = this.#find(requestState, binding);
    open.followed.answer(inputResponses);
    if (open.followed.answersByItself && request.habits) request.habits.answersByItself = true;
    return this.#play(open, request, { binding, withinMs: open.followed.stay?.limitMs });
  }

  async #begin(request: StatelessRequest, binding: Binding): Promise<Fields> {
    const { tools } = this.#parts;
    const tool = tools.find(binding.tool);
    if (!tool) throw invalidParams(`Unknown tool: ${binding.tool}`);
    const outcome = await tools.call(tool, request.params["arguments"], callOf(request));
    if (!("turn" in outcome)) return { ...outcome };
    const followed = new FollowedTurn(outcome, { requestId: request.id, canAnswer: canBeAsked(request), client: request.claim.client });
    const open = this.#opened(followed);
    if (TASKS_EXTENSION in request.claim.extensions) {
      const end = await this.#attend(open, request, this.#parts.taskAfterMs);
      const task = end === "late" || end === "questions" ? await this.#asTask(followed, request) : undefined;
      if (task) return task;
    }
    return this.#play(open, request, { binding, withinMs: outcome.stay?.patienceMs });
  }

  /** Undefined if no task could be created. The call then returns as for clients without tasks. */
  async #asTask(followed: FollowedTurn, { signal, caller }: StatelessRequest): Promise<Fields | undefined> {
    const ifLost = lostTurn(followed.turn.threadId);
    const task = await this.#parts.tasks.adopt(followed, { owner: caller?.principal ?? null, ifLost: { ...ifLost }, inlineMs: 0, signal });
    // A task attends its turn until the end, because its client may poll at any time.
    if (task) void followed.ended.then(() => followed.stay?.visit.received());
    return task;
  }

  #opened(followed: FollowedTurn): OpenCall {
    const open: OpenCall = new OpenCall(randomUUID(), followed, () => {
      followed.cancel("its client did not answer its questions in time");
      followed.stay?.visit.leave();
      this.#forget(open);
    });
    return open;
  }

  async #play(open: OpenCall, request: StatelessRequest, { binding, withinMs }: Round): Promise<Fields> {
    const end = await this.#attend(open, request, withinMs);
    const { state, stay } = open.followed;
    if (end === "questions")
      // Otherwise another request has just answered.
      return state.at === "asking" ? this.#inputRequired(open, state.requests, binding) : this.#play(open, request, { binding, withinMs });
    if (end === "late") return this.#leave(open);
    if (end === "cancelled") {
      if (stay && request.signal.reason instanceof CallerTimedOut) return this.#lose(open, stay);
      if (!open.isUnwanted()) throw cancelled();
      open.followed.cancel(whyOf(request.signal));
    }
    this.#forget(open);
    const result = resultOfWork(await open.followed.ended);
    stay?.visit.received();
    return result;
  }

  /** The turn continues; another call may wait for it. */
  #leave(open: OpenCall): Fields {
    const result = open.followed.whileRunning();
    this.#forget(open);
    open.followed.leave();
    open.followed.stay?.visit.leave();
    return result;
  }

  #lose(open: OpenCall, stay: CallStay): never {
    this.#forget(open);
    open.followed.leave();
    stay.timedOut();
    stay.visit.lose();
    throw cancelled();
  }

  async #attend(open: OpenCall, request: StatelessRequest, withinMs: number | undefined): Promise<RoundEnd> {
    open.attach();
    try {
      return await playRound(open.followed, request, { withinMs });
    } catch (error) {
      open.followed.cancel();
      open.followed.stay?.visit.leave();
      this.#forget(open);
      throw error;
    } finally {
      open.detach();
    }
  }

  #inputRequired(open: OpenCall, inputRequests: Fields, binding: Binding): Fields {
    const leave = this.#open.get(open.key)?.leave ?? this.#places.take(binding.principal ?? "");
    if (!leave) {
      open.followed.cancel("too many calls wait for their clients");
      throw new RpcError(RPC.busy, `${this.#open.size} calls wait for their clients already; try again later`);
    }
    this.#open.set(open.key, { call: open, leave });
    const requestState = this.#states.seal(open.key, { ...binding, until: open.handOut() });
    return { resultType: "input_required", inputRequests, requestState };
  }

  #find(requestState: unknown, binding: Binding): OpenCall {
    const opened = typeof requestState === "string" ? this.#states.open(requestState, binding) : "invalid";
    if (typeof opened === "string") throw invalidParams(REFUSALS[opened]);
    const open = this.#open.get(opened.call)?.call;
    if (!open) throw invalidParams("the call that `requestState` belongs to is over");
    return open;
  }

  #forget(open: OpenCall): void {
    open.close();
    this.#open.get(open.key)?.leave();
    this.#open.delete(open.key);
  }
}

const REFUSALS = {
  invalid: "`requestState` is not one that this server gave out for this call",
  expired: "`requestState` has expired: nobody answered in time, and the turn was interrupted",
  "earlier-server":
    "`requestState` is of a server that was restarted since: the turn was interrupted. Its thread can be continued with codex-reply.",
} as const;

function whyOf({ reason }: AbortSignal): string | undefined {
  return reason instanceof Error ? reason.message : undefined;
}

/** Never read: the client has disconnected or cancelled. */
function cancelled(): RpcError {
  return new RpcError(RPC.internalError, "The call was cancelled");
}

/** The call as tools see it. Its client cannot be asked during the call. */
function callOf(request: StatelessRequest): Call {
  const { id, params, signal, caller, claim, peer } = request;
  return {
    requestId: id,
    signal,
    caller,
    progressToken: claim.progressToken,
    logLevel: () => claim.logLevel,
    peer: { ...peer, request: () => Promise.reject(new Error("clients of this era cannot be asked")) },
    canElicit: canBeAsked(request),
    reader: { client: clientProfile(claim.client), takesStructured: true },
    client: claim.client,
    asksForEvents: EVENTS_EXTENSION in claim.extensions,
    trace: readTraceContext(params),
  };
}

/** A call whose turn outlives its request. Its client comes back with answers. */
class OpenCall {
  #attached = 0;
  #handedOut = false;
  #waiting: NodeJS.Timeout | undefined;

  readonly #abandoned: () => void;

  /** `abandoned` is called if the client does not come back in time. */
  constructor(
    readonly key: string,
    readonly followed: FollowedTurn,
    abandoned: () => void,
  ) {
    this.#abandoned = abandoned;
  }

  /** A request follows the turn. Call `detach` when it stops. */
  attach(): void {
    clearTimeout(this.#waiting);
    this.#attached++;
  }

  detach(): void {
    this.#attached--;
  }

  /** The client has the questions, and has until the first of them expires. Returns that time. */
  handOut(): number {
    this.#handedOut = true;
    this.#awaitReturn();
    return this.followed.deadline;
  }

  /**
   * A request was cancelled. Returns true if the turn is no longer needed: no other request follows it, and no client holds its questions.
   */
  isUnwanted(): boolean {
    if (this.#attached > 0) return false;
    if (!this.#handedOut || this.followed.state.at !== "asking") return true;
    this.#awaitReturn();
    return false;
  }

  close(): void {
    clearTimeout(this.#waiting);
  }

  #awaitReturn(): void {
    clearTimeout(this.#waiting);
    if (this.#attached > 0) return;
    this.#waiting = setTimeout(this.#abandoned, Math.max(this.followed.deadline - Date.now(), 0));
    this.#waiting.unref();
  }
}
