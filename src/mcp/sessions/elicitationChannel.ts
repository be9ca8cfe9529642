import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import { Tasks } from "../../lib/tasks.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Call } from "../call.js";
import type { TurnCall } from "../tools/tools.js";
import { elicitationParams, readDecision } from "../wording/elicitation.js";

/** Puts a turn's questions to the client of one call, and takes them back when they are decided elsewhere. */
export class ElicitationChannel {
  readonly #call: Call;
  readonly #turnCall: Pick<TurnCall, "agent" | "emptyForms">;
  readonly #open = new Map<ApprovalId, AbortController>();
  readonly #asking = new Tasks(() => undefined);

  constructor(call: Call, turnCall: Pick<TurnCall, "agent" | "emptyForms">) {
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

  async #ask(request: ApprovalRequest): Promise<void> {
    const abort = new AbortController();
    this.#open.set(request.id, abort);
    const { peer, requestId } = this.#call;
    try {
      const params = elicitationParams(request, requestId, { emptyForm: this.#turnCall.emptyForms });
      const options = { signal: abort.signal, withdrawWith: "notifications/cancelled", relatedTo: requestId };
      const decision = readDecision(await peer.request("elicitation/create", params, options), request.subject.kind);
      this.#turnCall.agent.decide(request.id, { ...decision, by: "elicitation" });
    } catch (error) {
      // Withdrawn, or the client is gone: then the turn ends or somebody else has decided.
      if (!(error instanceof RpcError)) return;
      const reason = `the client could not answer: ${describe(error)}`;
      this.#turnCall.agent.decide(request.id, { kind: "denied", reason, failed: true, by: "elicitation" });
    } finally {
      this.#open.delete(request.id);
    }
  }
}
