import { describe } from "../../lib/errors.js";
import type { Call } from "../../mcp/call.js";
import type { ToolAction } from "../../mcp/tools/tool.js";
import type { TurnOutcome } from "../../threads/events.js";
import { msSince, now } from "./scope.js";
import type { Telemetry } from "./telemetry.js";
import { turnWatch } from "./turnWatch.js";

/** A client may choose any id; a line needs no more of it. */
const MAX_ID_LENGTH = 128;

/** The same tool; logs, numbers and traces learn of its calls, and of the turns they ask for. */
export function trailed(tool: string, action: ToolAction, telemetry: Telemetry): ToolAction {
  return async (args, call) => {
    const trail = beginTrail(tool, call, telemetry);
    // The answer to a call that starts a turn is what becomes of it.
    const ended = (outcome: TurnOutcome["status"]) => trail.end(outcome === "completed" ? "ok" : "error", outcome);
    const watchTurn = turnWatch(telemetry, { log: trail.log, trace: trail.span.context, ended });
    try {
      const answer = await action(args, { ...call, watchTurn });
      if (!("turn" in answer)) trail.end(answer.isError ? "error" : "ok", "refused");
      return answer;
    } catch (error) {
      trail.end("error", describe(error));
      throw error;
    }
  };
}

function beginTrail(tool: string, call: Call, telemetry: Telemetry) {
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
  const end = (outcome: "ok" | "error", cause: string): void => {
    const facts = { tool, outcome: call.signal.aborted ? ("cancelled" as const) : outcome, ms: msSince(since) };
    telemetry.metrics.callEnded(facts);
    log.debug("call ended", { ...facts, cause: facts.outcome === "error" ? cause : undefined });
    span.end({ ok: undefined, error: cause, cancelled: "cancelled" }[facts.outcome]);
  };
  return { log, span, end };
}
