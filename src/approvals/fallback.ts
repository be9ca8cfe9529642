import { NO_SANDBOX } from "../exec/errors.js";
import type { ApprovalDecision, ApprovalSubject } from "./model.js";

/** What happens to questions for clients that cannot answer them. */
export const FALLBACKS = ["auto-within-policy", "deny", "hold", "ask"] as const;
export type ApprovalFallback = (typeof FALLBACKS)[number];

/** The decision made for a client that cannot answer questions; undefined leaves the question open. */
export function decideWithoutClient(
  subject: ApprovalSubject,
  fallback: "auto-within-policy" | "deny" | "hold",
): ApprovalDecision | undefined {
  switch (fallback) {
    case "hold":
      return undefined;
    case "deny":
      return { kind: "denied", reason: "nobody can be asked: the client does not support questions (--approval-fallback deny)" };
    case "auto-within-policy":
      if (subject.staysInSandbox && !subject.needsPerson) return { kind: "approved" };
      return { kind: "denied", reason: reasonAgainst(subject) };
  }
}

function reasonAgainst({ needsPerson, lacksSandbox }: ApprovalSubject): string {
  if (needsPerson) return "this needs a person's approval, and the client does not support questions";
  return lacksSandbox
    ? `the client does not support questions, and ${NO_SANDBOX}`
    : "this would leave the sandbox, and the client does not support questions; find a way inside it";
}
