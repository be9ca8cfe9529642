import type { DecidedQuestion, TurnReceipt } from "../../agent/receipt.js";
import { SANDBOX_REMEDY } from "../../exec/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import type { TurnOutcome } from "../../threads/events.js";
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

/** What the caller should do next, if anything. */
export function nextStep(outcome: TurnOutcome, { threadId, receipt, ifSilent, neverBegan }: ReportedEnd): string | undefined {
  const goOn = `codex-reply with threadId "${threadId}"`;
  switch (outcome.status) {
    case "completed":
      if (receipt.lacksSandbox) return COMMANDS_NOT_RUN;
      if (receipt.isWriteRefused && receipt.files?.list.length === 0) return notWritten(receipt);
      if (receipt.approvals.decisions.some(isDeniedUnasked)) return NOBODY_ASKED;
      return (outcome.lastMessage ?? ifSilent ?? "") === ""
        ? `The agent ended without a message. Ask what it did with ${goOn}.`
        : undefined;
    case "failed":
      return receipt.failedAs === "context_window_exceeded"
        ? `Thread ${threadId} is too long for the model. codex-manage with \`compact\` shortens it; then go on with ${goOn}, or start over with codex.`
        : `The turn on thread ${threadId} failed. When the cause is gone, go on with ${goOn}.`;
    case "interrupted":
      return neverBegan
        ? `If it is still wanted, send the prompt again with ${goOn}.`
        : `Thread ${threadId} keeps what it has done. Go on with ${goOn}.`;
  }
}

/** What was approved may have written where nobody looks. */
function notWritten({ approvals }: TurnReceipt): string {
  const what = approvals.allowed === 0 ? "Nothing was written" : "A write was refused";
  return `${what}: the sandbox is read-only. If files should change, start the task again with codex and sandbox "workspace-write".`;
}

function isDeniedUnasked({ decision, by }: DecidedQuestion): boolean {
  return decision === "denied" && (by === "fallback" || by === "client");
}

const NOBODY_ASKED =
  "Approval was denied because no person could be asked. If it is needed, ask the user: with --approval-fallback hold this server lets codex-answer answer, and a wider `sandbox` needs fewer approvals.";

const COMMANDS_NOT_RUN = `Commands did not run: no sandbox works on this machine, and nobody allowed them without one; ${SANDBOX_REMEDY}.`;
