import type { TurnReceipt } from "../../agent/receipt.js";
import type { ThreadId } from "../../lib/ids.js";
import { describeSubject, wayText } from "./turnReport.js";

/** What the words about a turn's end depend on, besides its outcome. */
export interface ReportedEnd {
  readonly threadId: ThreadId;
  readonly receipt: TurnReceipt;
  /** The text if the turn completes without a message. */
  readonly ifSilent?: string | undefined;
  /** Why the turn was interrupted, if somebody else than the caller interrupted it. */
  readonly interruption?: string | undefined;
  /** It ended while it waited behind another turn: the agent never saw it. */
  readonly neverBegan?: boolean | undefined;
}

/** Why a turn left no answer. */
export function interruptedText({ interruption, neverBegan, receipt }: ReportedEnd): string {
  const why = interruption ?? abortText(receipt);
  const cause = why === undefined ? "" : `: ${why}`;
  return neverBegan
    ? `The turn was stopped before it began${cause}. The agent has not seen its prompt.`
    : `The turn was interrupted before it ended${cause}.`;
}

function abortText({ approvals }: TurnReceipt): string | undefined {
  const aborted = approvals.decisions.findLast(({ decision }) => decision === "abort");
  return aborted && `the question about ${describeSubject(aborted.subject)} was answered "abort" ${wayText(aborted.by)}`;
}
