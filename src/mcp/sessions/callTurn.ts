import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import { Tasks } from "../../lib/promises.js";
import type { ThreadEvent } from "../../threads/events.js";
import { clientProfile } from "../clientProfiles.js";
import { hasStructuredContent } from "../revisions.js";
import { formFor, takeAnswer } from "../tools/answers.js";
import type { TurnCall } from "../tools/tools.js";
import { type CallToolResult, turnResult } from "../wording/callResult.js";
import { elicitationParams, type FormOptions } from "../wording/elicitation.js";
import type { Call } from "../wording/turnView.js";
import { TurnView } from "../wording/turnView.js";

/**
 * Attaches a call to its turn: the client sees what happens until the turn ends, and a cancelled call interrupts it.
 * The call does not own the turn; others may read the same log.
 */
export async function followTurn(turnCall: TurnCall, call: Call): Promise<CallToolResult> {
  const { turn, agent, presentation, ifSilent, remarks } = turnCall;
  const interrupt = () => turn.interrupt();
  call.signal.addEventListener("abort", interrupt, { once: true });
  if (call.signal.aborted) interrupt();
  const client = new TurnView(turn, call, presentation);
  const questions = new ElicitationChannel(call, turnCall);
  try {
    for await (const batch of turn.log.read()) {
      for (const { value } of batch) {
        client.show(value);
        questions.take(value);
        // Within a batch too: a reader that was behind gets everything it missed in one.
        const congestion = call.peer.congested();
        if (congestion) await congestion;
      }
    }
    const { threadId } = turn;
    const { results } = presentation;
    const outcome = await turn.outcome;
    const receipt = await agent.receiptOf(turn);
    const reader = { client: clientProfile(call.client), takesStructured: hasStructuredContent(call.revision) };
    return turnResult(outcome, {
      threadId,
      engine: agent.engineName,
      receipt,
      ifSilent,
      reader,
      results,
      resultTokens: turnCall.resultTokens,
      remarks,
    });
  } finally {
    client.close();
    await questions.close();
    call.signal.removeEventListener("abort", interrupt);
  }
}

/** Puts a turn's questions to the client of one call, and takes them back when they are decided elsewhere. */
export class ElicitationChannel {
  readonly #call: Call;
  readonly #turnCall: Pick<TurnCall, "agent" | "emptyForms" | "presentation">;
  readonly #open = new Map<ApprovalId, AbortController>();
  readonly #asking = new Tasks(() => undefined);

  constructor(call: Call, turnCall: Pick<TurnCall, "agent" | "emptyForms" | "presentation">) {
    this.#call = call;
    this.#turnCall = turnCall;
  }

  take(event: ThreadEvent): void {
    if (event.type === "approvalRequested") this.#consider(event.request);
    if (event.type === "approvalDecided") this.#open.get(event.id)?.abort(new Error("decided"));
  }

  /** Withdraws what is still being asked. */
  async close(): Promise<void> {
    for (const abort of this.#open.values()) abort.abort(new Error("the turn has ended"));
    await this.#asking.settle();
  }

  #consider(request: ApprovalRequest): void {
    if (this.#turnCall.agent.mustAsk(request, { canAnswer: this.#call.canElicit, askAnyway: true }))
      this.#asking.start(`approval ${request.id}`, () => this.#ask(request));
  }

  get #form(): FormOptions {
    const { emptyForms, presentation } = this.#turnCall;
    return formFor(this.#call.client, { emptyForms, style: presentation.results });
  }

  async #ask(request: ApprovalRequest): Promise<void> {
    const abort = new AbortController();
    this.#open.set(request.id, abort);
    const { peer, requestId } = this.#call;
    const { agent, presentation } = this.#turnCall;
    try {
      const params = elicitationParams(request, requestId, this.#form);
      const options = { signal: abort.signal, withdrawWith: "notifications/cancelled", relatedTo: requestId };
      const since = performance.now();
      const answer = await peer.request("elicitation/create", params, options);
      const given = { request, answer, afterMs: performance.now() - since };
      if (takeAnswer(given, { agent, style: presentation.results }) === "asked nobody") this.#call.asksNobody?.();
    } catch (error) {
      // Withdrawn, or the client is gone: then the turn ends or somebody else has decided.
      if (!(error instanceof RpcError)) return;
      const reason = `the client could not answer: ${describe(error)}`;
      agent.decide(request.id, { kind: "denied", reason, failed: true, by: "elicitation" });
    } finally {
      this.#open.delete(request.id);
    }
  }
}
