import { randomUUID } from "node:crypto";
import { hasScope } from "../../agent/caller.js";
import { CallerTimedOut, ScopeMissing } from "../../agent/errors.js";
import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { type Release, Shares } from "../../lib/shares.js";
import { readTraceContext } from "../../observability/telemetry.js";
import type { CallStay, Tools } from "../tools/tools.js";
import { lostTurn, refusal } from "../wording/callResult.js";
import type { Call } from "../wording/turnView.js";
import { FollowedTurn, resultOfWork } from "./followedTurn.js";
import { canBeAsked, EVENTS_EXTENSION, type StatelessRequest, TASKS_EXTENSION } from "./request.js";
import { type Binding, RequestStates } from "./requestState.js";
import { playRound, type RoundEnd } from "./round.js";
import type { TaskRegistry } from "./taskRegistry.js";

/** Calls that wait for their clients to come back: as many as may be in flight on one channel. */
const MAX_OPEN_CALLS = 1_024;

/** One request's part in a call. */
interface Round {
  readonly binding: Binding;
  /** How long it waits. */
  readonly withinMs: number | undefined;
}

export interface AgentCallParts {
  readonly tools: Tools;
  readonly tasks: TaskRegistry;
  /** What is over this soon is answered by the call itself, also to clients that take tasks: they show it at once, and forget no handle. */
  readonly taskAfterMs: number;
}

/**
 * `tools/call` without a way to ask back. A call with questions is answered with them, and repeated with the answers; the turn goes on
 * waiting meanwhile. For clients that take tasks a call that lasts becomes one.
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

  /** Undefined when it could not be made one: then the call is answered as those of other clients are. */
  async #asTask(followed: FollowedTurn, { signal, caller }: StatelessRequest): Promise<Fields | undefined> {
    const ifLost = lostTurn(followed.turn.threadId);
    const task = await this.#parts.tasks.adopt(followed, { owner: caller?.principal ?? null, ifLost: { ...ifLost }, inlineMs: 0, signal });
    // A task attends its turn as long as that lasts: its client comes when it likes.
    if (task) void followed.ended.then(() => followed.stay?.visit.told());
    return task;
  }

  #opened(followed: FollowedTurn): OpenCall {
    const open: OpenCall = new OpenCall(randomUUID(), followed, () => {
      followed.cancel();
      followed.stay?.visit.leave();
      this.#forget(open);
    });
    return open;
  }

  async #play(open: OpenCall, request: StatelessRequest, { binding, withinMs }: Round): Promise<Fields> {
    const end = await this.#attend(open, request, withinMs);
    const { state, stay } = open.followed;
    if (end === "questions")
      // Otherwise another request has answered in this very moment.
      return state.at === "asking" ? this.#inputRequired(open, state.requests, binding) : this.#play(open, request, { binding, withinMs });
    if (end === "late") return this.#leave(open);
    if (end === "cancelled") {
      if (stay && request.signal.reason instanceof CallerTimedOut) return this.#lose(open, stay);
      if (!open.isUnwanted()) throw cancelled();
      open.followed.cancel();
    }
    this.#forget(open);
    const result = resultOfWork(await open.followed.ended);
    stay?.visit.told();
    return result;
  }

  /** The turn goes on; another call may come for it. */
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
      open.followed.cancel();
      throw new RpcError(RPC.busy, `${this.#open.size} calls wait for their clients already; try again later`);
    }
    this.#open.set(open.key, { call: open, leave });
    const requestState = this.#states.seal(open.key, { ...binding, until: open.handOut() });
    return { resultType: "input_required", inputRequests, requestState };
  }

  #find(requestState: unknown, binding: Binding): OpenCall {
    const opened = typeof requestState === "string" ? this.#states.open(requestState, binding) : "not valid";
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
  "not valid": "`requestState` is not one that this server gave out for this call",
  expired: "`requestState` has expired: nobody answered in time, and the turn was interrupted",
  "of an earlier server":
    "`requestState` is of a server that was restarted since: the turn was interrupted. Its thread can be continued with codex-reply.",
} as const;

/** Nobody reads it: the client has gone, or said that it does not wait any more. */
function cancelled(): RpcError {
  return new RpcError(RPC.internalError, "The call was cancelled");
}

/** The call as tools know it. There is no way to ask its client in between. */
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
    revision: undefined,
    client: claim.client,
    asksForEvents: EVENTS_EXTENSION in claim.extensions,
    trace: readTraceContext(params),
  };
}

/** A call whose turn outlives its request: its client comes back for it, with answers. */
class OpenCall {
  #attached = 0;
  #handedOut = false;
  #waiting: NodeJS.Timeout | undefined;

  readonly #abandoned: () => void;

  /** `abandoned` is called when nobody came back in time. */
  constructor(
    readonly key: string,
    readonly followed: FollowedTurn,
    abandoned: () => void,
  ) {
    this.#abandoned = abandoned;
  }

  /** A request follows the turn; `detach` is to be called when it does no longer. */
  attach(): void {
    clearTimeout(this.#waiting);
    this.#attached++;
  }

  detach(): void {
    this.#attached--;
  }

  /** The client has the questions, and may take its time until the first of them expires. Returns when that is. */
  handOut(): number {
    this.#handedOut = true;
    this.#awaitReturn();
    return this.followed.deadline;
  }

  /** A request was cancelled. True when nobody wants the turn any more: no other request follows it, and no client has its questions. */
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
