import type { ApprovalDesk } from "../approvals/desk.js";
import type { ApprovalDecision, ApprovalSubject } from "../approvals/model.js";
import type { TurnContext } from "./engine.js";
import type { ThreadEvent } from "./events.js";
import type { Confinement } from "./limits.js";
import type { Turn } from "./turn.js";

/** How a turn puts its questions: they wait on the desk, and readers are told of each and how it was decided. */
export function questionsOf(turn: Turn, desk: ApprovalDesk, tell: (events: readonly ThreadEvent[]) => void): TurnContext["ask"] {
  const { id: turnId, threadId, signal } = turn;
  const confinement = turn.input.limits?.confinement;
  return async (asked, withdrawn) => {
    if (confinement && isBeyond(confinement, asked)) return { kind: "denied", reason: confinement.reason };
    const subject = confinement ? withoutAmendment(asked) : asked;
    const until = withdrawn ? AbortSignal.any([signal, withdrawn]) : signal;
    const { request, decision } = desk.ask({ threadId, turnId, subject, signal: until });
    const tellDecision = (decided: ApprovalDecision) => tell([{ type: "approvalDecided", id: request.id, decision: decided }]);
    tell([{ type: "approvalRequested", request }]);
    try {
      const decided = withinConfinement(await decision, confinement);
      tellDecision(decided);
      return decided;
    } catch (error) {
      // The turn goes on without the answer: whoever shows the question must learn that it is gone.
      if (!signal.aborted) tellDecision({ kind: "denied", reason: "the question was withdrawn", by: "withdrawal" });
      throw error;
    }
  };
}

function isBeyond({ sandbox }: Confinement, subject: ApprovalSubject): boolean {
  if (subject.widensSandbox) return true;
  // A form asks for words, not for leave.
  if (subject.kind === "form" || subject.staysInSandbox) return false;
  return !(subject.kind === "patch" && subject.staysInWorkspace === true && sandbox === "workspace-write");
}

/** Commands that are allowed by their beginning run outside the sandbox, so a confined turn does not offer it. */
function withoutAmendment(subject: ApprovalSubject): ApprovalSubject {
  if (subject.kind !== "command") return subject;
  const { proposedPrefix: _, ...rest } = subject;
  return rest;
}

function withinConfinement(decision: ApprovalDecision, confinement: Confinement | undefined): ApprovalDecision {
  if (!confinement || decision.kind !== "approvedPrefix") return decision;
  return { kind: "denied", reason: `commands cannot be allowed by their beginning: ${confinement.reason}` };
}
