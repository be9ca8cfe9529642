import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { msSince, now, type TurnScope } from "./scope.js";

/** A turn's questions: asked, and decided by whom and how. */
export class ApprovalWatch {
  readonly #scope: TurnScope;
  /** Bounded by the desk; emptied at the turn's end. */
  readonly #open = new Map<ApprovalId, number>();

  constructor(scope: TurnScope) {
    this.#scope = scope;
  }

  asked({ id, subject }: ApprovalRequest): void {
    this.#open.set(id, now());
    this.#scope.metrics.approvalAsked();
    this.#scope.log.info("approval asked", { approval_id: id, call_id: subject.callId || undefined, kind: subject.kind });
  }

  decided(id: ApprovalId, { kind, by }: ApprovalDecision): void {
    this.#settle(id, { decision: kind, door: by ?? "unknown" });
  }

  /** What nobody decided before the turn's end is withdrawn. */
  close(): void {
    for (const id of this.#open.keys()) this.#settle(id, { decision: "none", door: "withdrawal" });
  }

  #settle(id: ApprovalId, { decision, door }: { readonly decision: string; readonly door: string }): void {
    const since = this.#open.get(id);
    if (since === undefined) return;
    this.#open.delete(id);
    const ms = msSince(since);
    this.#scope.metrics.approvalSettled({ decision, door, ms });
    this.#scope.log.info("approval decided", { approval_id: id, decision, door, ms });
  }
}
