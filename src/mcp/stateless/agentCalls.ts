import { randomUUID } from "node:crypto";
import { hasScope, ScopeMissing } from "../../agent/scopes.js";
import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { failureOn, refusal } from "../wording/callResult.js";
import { beginCall, cancelled, type ToolParts } from "./beginCall.js";
import { TASKS_EXTENSION, takesForms } from "./claim.js";
import { FollowedTurn } from "./followedTurn.js";
import { OpenCall } from "./openCall.js";
import type { StatelessRequest } from "./request.js";
import { type Binding, RequestStates } from "./requestState.js";
import { playRound, type RoundEnd } from "./round.js";
import type { TaskBoard } from "./tasks/taskBoard.js";
import { resultOf } from "./work.js";

/** Calls that wait for their clients to come back: as many as may be in flight on one channel. */
const MAX_OPEN_CALLS = 1_024;
/** What is over this soon is answered at once, also to clients that take tasks: mostly it is a mistake in the arguments, or a missing login. */
const INLINE_MS = 1_000;

export interface AgentCallParts extends ToolParts {
  readonly tasks: TaskBoard;
}

/**
 * `tools/call` without a way to ask back. A call with questions is answered with them, and repeated with the answers; the turn goes on
 * waiting meanwhile. For clients that take tasks a call that lasts becomes one.
 */
export class AgentCalls {
  readonly #states = new RequestStates();
  readonly #open = new Map<string, OpenCall>();

  constructor(private readonly parts: AgentCallParts) {}

  async call(request: StatelessRequest): Promise<Fields> {
    const { name, arguments: args, requestState, inputResponses = {} } = request.params;
    if (typeof name !== "string") throw invalidParams("tools/call: `name` must be a string");
    if (!isFields(inputResponses)) throw invalidParams("tools/call: `inputResponses` must be an object");
    if (!hasScope(request.caller, "call")) return { ...refusal(new ScopeMissing("call").message) };
    const binding: Binding = { principal: request.caller?.principal, tool: name, args };
    if (requestState === undefined) return this.#begin(request, binding);
    const open = this.#find(requestState, binding);
    open.followed.answer(inputResponses);
    return this.#play(open, request, binding);
  }

  async #begin(request: StatelessRequest, binding: Binding): Promise<Fields> {
    const begun = await beginCall(binding.tool, request, this.parts);
    if ("result" in begun) return begun.result;
    const options = { requestId: request.id, takesForms: takesForms(request.claim) };
    const followed = FollowedTurn.follow(begun.turnCall, options);
    const answer = TASKS_EXTENSION in request.claim.extensions ? await this.#asTask(followed, request) : undefined;
    return answer ?? this.#play(this.#opened(followed), request, binding);
  }

  /** Undefined when it could not be made one: then the call is answered as those of other clients are. */
  #asTask(followed: FollowedTurn, { signal, caller }: StatelessRequest): Promise<Fields | undefined> {
    const { threadId } = followed.turn;
    const ifLost = failureOn(
      threadId,
      `The turn was interrupted: the server ended before it. Its thread ${threadId} can be continued with codex-reply.`,
    );
    return this.parts.tasks.adopt(followed, { owner: caller?.principal ?? null, ifLost: { ...ifLost }, inlineMs: INLINE_MS, signal });
  }

  #opened(followed: FollowedTurn): OpenCall {
    const open: OpenCall = new OpenCall(randomUUID(), followed, () => {
      followed.cancel();
      this.#forget(open);
    });
    return open;
  }

  async #play(open: OpenCall, request: StatelessRequest, binding: Binding): Promise<Fields> {
    const end = await this.#attend(open, request);
    const { state } = open.followed;
    if (end === "questions")
      // Otherwise another request has answered in this very moment.
      return state.at === "asking" ? this.#inputRequired(open, state.requests, binding) : this.#play(open, request, binding);
    if (end === "cancelled") {
      if (!open.isUnwanted()) throw cancelled();
      open.followed.cancel();
    }
    this.#forget(open);
    return resultOf(await open.followed.ended);
  }

  async #attend(open: OpenCall, request: StatelessRequest): Promise<RoundEnd> {
    open.attach();
    try {
      return await playRound(open.followed, request);
    } catch (error) {
      open.followed.cancel();
      this.#forget(open);
      throw error;
    } finally {
      open.detach();
    }
  }

  #inputRequired(open: OpenCall, inputRequests: Fields, binding: Binding): Fields {
    if (!this.#open.has(open.key) && this.#open.size >= MAX_OPEN_CALLS) {
      open.followed.cancel();
      throw new RpcError(RPC.busy, `${MAX_OPEN_CALLS} calls wait for their clients already; try again later`);
    }
    this.#open.set(open.key, open);
    const requestState = this.#states.seal(open.key, { ...binding, until: open.handOut() });
    return { resultType: "input_required", inputRequests, requestState };
  }

  #find(requestState: unknown, binding: Binding): OpenCall {
    const opened = typeof requestState === "string" ? this.#states.open(requestState, binding) : "not valid";
    if (typeof opened === "string") throw invalidParams(REFUSALS[opened]);
    const open = this.#open.get(opened.call);
    if (!open) throw invalidParams("the call that `requestState` belongs to is over");
    return open;
  }

  #forget(open: OpenCall): void {
    open.close();
    this.#open.delete(open.key);
  }
}

const REFUSALS = {
  "not valid": "`requestState` is not one that this server gave out for this call",
  expired: "`requestState` has expired: nobody answered in time, and the turn was interrupted",
  "of an earlier server":
    "`requestState` is of a server that was restarted since: the turn was interrupted. Its thread can be continued with codex-reply.",
} as const;
