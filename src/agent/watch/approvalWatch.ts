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

  decided(id: ApprovalId, decision: ApprovalDecision): void {
    const door = decision.by ?? "unknown";
    if (decision.kind === "denied" && decision.failed) this.#settle(id, { decision: "failed", door, cause: decision.reason });
    else this.#settle(id, { decision: decision.kind, door });
  }

  /** What nobody decided before the turn's end is withdrawn. */
  close(): void {
    for (const id of this.#open.keys()) this.#settle(id, { decision: "none", door: "withdrawal" });
  }

  #settle(id: ApprovalId, { decision, door, cause }: Settlement): void {
    const since = this.#open.get(id);
    if (since === undefined) return;
    this.#open.delete(id);
    const ms = msSince(since);
    this.#scope.metrics.approvalSettled({ decision, door, ms });
    if (decision === "failed") this.#scope.log.warn("approval failed", { approval_id: id, door, ms, cause });
    else this.#scope.log.info("approval decided", { approval_id: id, decision, door, ms });
  }
}

interface Settlement {
  /** `failed` when nobody decided because the answer was an error or could not be read: it counts as a denial. */
  readonly decision: ApprovalDecision["kind"] | "none" | "failed";
  readonly door: string;
  /** Why it failed. */
  readonly cause?: string | undefined;
}
