import type { ApprovalDecision, DecidedBy } from "./model.js";

type Denial = Extract<ApprovalDecision, { kind: "denied" }>;

/** Doors at which a person, or whoever speaks for one, says no. */
const PERSONS_DOORS: ReadonlySet<DecidedBy | undefined> = new Set<DecidedBy | undefined>([
  "elicitation",
  "tool",
  "http",
  "console",
  undefined,
]);

/** Somebody said no; not a rule, a deadline, an answer that could not be read, or a client that asked nobody. */
export function isPersonsNo({ by, failed, dismissed }: Denial): boolean {
  return !failed && !dismissed && PERSONS_DOORS.has(by);
}

/** The question was closed without an answer, which is no refusal either. */
export function isDismissed(decision: ApprovalDecision): boolean {
  return decision.kind === "denied" && decision.dismissed === true;
}

/** What a model is told of something that it may not do. It must not take for its user's will what nobody said. */
export function denialText(what: "exec command" | "patch", denial: Denial): string {
  const why = denial.reason === undefined ? "" : `: ${denial.reason}`;
  return `${what} ${isPersonsNo(denial) ? "rejected by user" : "not approved"}${why}`;
}

/**
 * The same for a model that is told by its own engine that the user rejected it, and learns why from here. Undefined when there is nothing to add.
 */
export function denialRemark(what: string, denial: Denial): string | undefined {
  const { reason } = denial;
  if (isPersonsNo(denial)) return reason === undefined ? undefined : `The user did not allow ${what}, and says: ${reason}`;
  return `Nobody rejected ${what}; it was not approved${reason === undefined ? "." : `: ${reason}`}`;
}
