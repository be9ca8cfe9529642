import { AppError, describe } from "../../lib/errors.js";
import type { TraceContext } from "../../observability/tracing.js";
import type { TurnOutcome } from "../../threads/events.js";
import type { TurnWatch } from "../../threads/turn.js";
import type { Caller } from "../caller.js";
import type { Telemetry } from "./telemetry.js";
import { msSince, now } from "./turnSteps.js";
import { turnWatch } from "./turnWatch.js";

/** A client may choose any id; a log line needs no more of it. */
const MAX_ID_LENGTH = 128;

/** What is known of a call, whichever protocol it came by. */
export interface ObservedCall {
  readonly requestId: string | number | bigint;
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
  /** The trace it belongs to, as the client said. */
  readonly trace?: TraceContext | undefined;
}

/** One call in logs, metrics and traces. Ends once: with its answer, with its failure, or with the turn that it began. */
export interface CallTrail {
  /** For the turns that the call begins: what becomes of them is the call's end. */
  readonly watchTurn: TurnWatch;
  /** Gives back what it was given. */
  ended<T extends { readonly isError?: true }>(answer: T): T;
  failed(error: unknown): void;
}

export function beginCallTrail(tool: string, call: ObservedCall, telemetry: Telemetry): CallTrail {
  // On stdio there is one session, and it has no id; a call of the era without sessions has none.
  const sessionId = call.caller ? call.caller.sessionId : "stdio";
  const requestId = String(call.requestId).slice(0, MAX_ID_LENGTH);
  const log = telemetry.log.target("mcp").with({ session_id: sessionId, request_id: requestId });
  const span = telemetry.tracing.startSpan(`tools/call ${tool}`, {
    parent: call.trace,
    kind: "server",
    attributes: { "mcp.method.name": "tools/call", "gen_ai.tool.name": tool, "mcp.session.id": sessionId, "jsonrpc.request.id": requestId },
  });
  const since = now();
  const end = (outcome: "ok" | "error", cause: string, code?: string): void => {
    const facts = { tool, outcome: call.signal.aborted ? ("cancelled" as const) : outcome, ms: msSince(since) };
    const isError = facts.outcome === "error";
    telemetry.metrics.callEnded({ ...facts, code: isError ? code : undefined });
    log.debug("call ended", { ...facts, ...(isError && { cause, code }) });
    span.end({ ok: undefined, error: cause, cancelled: "cancelled" }[facts.outcome]);
  };
  const turnEnded = (outcome: TurnOutcome["status"]) => end(outcome === "completed" ? "ok" : "error", outcome);
  return {
    watchTurn: turnWatch(telemetry, { log, trace: span.context, ended: turnEnded }),
    ended(answer) {
      end(answer.isError ? "error" : "ok", "refused");
      return answer;
    },
    failed: (error) => end("error", describe(error), error instanceof AppError ? error.code : "unforeseen"),
  };
}
