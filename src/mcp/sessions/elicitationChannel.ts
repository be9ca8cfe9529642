import type { ApprovalDesk } from "../../approvals/desk.js";
import { type ApprovalFallback, decideWithoutClient } from "../../approvals/fallback.js";
import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import { Tasks } from "../../lib/tasks.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Call } from "../call.js";
import { elicitationParams, readDecision } from "../wording/elicitation.js";

/** How questions of a turn reach whoever may answer them. */
export interface ApprovalDoor {
  readonly desk: ApprovalDesk;
  /** What happens when the client cannot be asked. */
  readonly fallback: ApprovalFallback;
  /** Questions carry no form, as Codex sent them; for clients that cannot show ours. */
  readonly emptyForms?: boolean;
}

/** Puts a turn's questions to the client of one call, and takes them back when they are decided elsewhere. */
export class ElicitationDoor {
  readonly #call: Call;
  readonly #door: ApprovalDoor;
  readonly #open = new Map<ApprovalId, AbortController>();
  readonly #asking = new Tasks(() => undefined);

  constructor(call: Call, door: ApprovalDoor) {
    this.#call = call;
    this.#door = door;
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
    const { desk, fallback } = this.#door;
    if (this.#call.canElicit || fallback === "ask") return this.#asking.start(`approval ${request.id}`, () => this.#ask(request));
    const decision = decideWithoutClient(request.subject, fallback);
    if (decision) desk.answer(request.id, { ...decision, by: "fallback" });
  }

  async #ask(request: ApprovalRequest): Promise<void> {
    const abort = new AbortController();
    this.#open.set(request.id, abort);
    const { peer, requestId } = this.#call;
    try {
      const params = elicitationParams(request, requestId, { emptyForm: this.#door.emptyForms === true });
      const options = { signal: abort.signal, withdrawWith: "notifications/cancelled", relatedTo: requestId };
      const decision = readDecision(await peer.request("elicitation/create", params, options), request.subject.kind);
      this.#door.desk.answer(request.id, { ...decision, by: "elicitation" });
    } catch (error) {
      // Withdrawn, or the client is gone: then the turn ends or somebody else has decided.
      if (!(error instanceof RpcError)) return;
      const reason = `the client could not answer: ${describe(error)}`;
      this.#door.desk.answer(request.id, { kind: "denied", reason, failed: true, by: "elicitation" });
    } finally {
      this.#open.delete(request.id);
    }
  }
}
