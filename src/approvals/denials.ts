import type { ApprovalDecision, DecidedBy } from "./model.js";

type Denial = Extract<ApprovalDecision, { kind: "denied" }>;

/** The channels through which a person, or a program acting for one, can refuse. */
const PERSONS_CHANNELS: ReadonlySet<DecidedBy | undefined> = new Set<DecidedBy | undefined>([
  "elicitation",
  "tool",
  "http",
  "console",
  undefined,
]);

/** True only for a real refusal: not for a rule, a timeout, an unreadable response, or a client that answered without asking anyone. */
export function isDeniedByPerson({ by, failed, dismissed }: Denial): boolean {
  return !failed && !dismissed && PERSONS_CHANNELS.has(by);
}

/** The question was closed without an answer, or with none that can be used. That is not a refusal either. */
export function isDismissed(decision: ApprovalDecision): boolean {
  return decision.kind === "denied" && (decision.dismissed === true || decision.failed === true);
}

/** What the model gets as the result of an action it may not perform. It must not mistake a missing answer for the user's decision. */
export function denialText(what: "exec command" | "patch", denial: Denial): string {
  const why = denial.reason === undefined ? "" : `: ${denial.reason}`;
  return `${what} ${isDeniedByPerson(denial) ? "rejected by user" : "not approved"}${why}`;
}

/**
 * The same for a model whose own engine reports every denial as a rejection by the user: this adds the real reason. Undefined when there is
 * nothing to add.
 */
export function denialRemark(what: string, denial: Denial): string | undefined {
  const { reason } = denial;
  if (isDeniedByPerson(denial)) return reason === undefined ? undefined : `The user did not allow ${what}, and says: ${reason}`;
  return `Nobody rejected ${what}; it was not approved${reason === undefined ? "." : `: ${reason}`}`;
}

const REMARK = /^(?:The user did not allow .+, and says: |Nobody rejected .+; it was not approved[.:])/s;

/** Whether a message within a turn is such a remark: the engine records it like a message of the user. */
export function isDenialRemark(text: string): boolean {
  return REMARK.test(text);
}
