import type { ApprovalDecision, ApprovalSubject } from "./model.js";

/** What happens to questions of clients that cannot be asked. */
export const FALLBACKS = ["auto-within-policy", "deny", "hold", "ask"] as const;
export type ApprovalFallback = (typeof FALLBACKS)[number];

/** The decision in place of a client that cannot be asked; undefined leaves the question open. */
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
      return {
        kind: "denied",
        reason: subject.needsPerson
          ? "this needs a person's approval, and the client does not support questions"
          : "this would leave the sandbox, and the client does not support questions; find a way inside it",
      };
  }
}
