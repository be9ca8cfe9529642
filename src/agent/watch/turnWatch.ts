import { AppError, describe } from "../../lib/errors.js";
import type { Log } from "../../observability/log.js";
import { msSince, NO_METRICS, NO_TRACING, now, type Telemetry, type TraceContext } from "../../observability/telemetry.js";
import type { ThreadEvent, TurnEnd, TurnOutcome } from "../../threads/events.js";
import { isTurnEnd, type Turn, type TurnWatch } from "../../threads/turn.js";
import type { Caller } from "../caller.js";
import { ApprovalWatch, ModelWatch, ToolWatch, type TurnScope } from "./turnSteps.js";

/** Reports a turn's events, first to last, to logs, metrics and traces. */
export class StartedTurn {
  readonly #scope: TurnScope;
  readonly #since = now();
  #model = "unknown";
  /** Absent where model calls are neither logged, counted nor traced, as on most stdio servers. */
  readonly #calls: ModelWatch | undefined;
  #tools: ToolWatch | undefined;
  #approvals: ApprovalWatch | undefined;

  constructor(scope: TurnScope) {
    this.#scope = scope;
    const log = scope.log.target("model");
    if (scope.metrics !== NO_METRICS || scope.tracing !== NO_TRACING || log.writes("debug"))
      this.#calls = new ModelWatch({ ...scope, log }, () => this.#model);
  }

  take(event: ThreadEvent): void {
    switch (event.type) {
      case "messageDelta":
      case "reasoningDelta":
      case "rawReasoningDelta":
        return this.#calls?.delta();
      case "rawItem":
        return this.#calls?.item();
      case "threadConfigured":
        this.#model = event.settings.model;
        return undefined;
      case "turnStarted":
        return this.#calls?.suppose();
      case "turnContext":
        this.#model = event.settings.model;
        return this.#calls?.begin();
      case "tokenCount":
        return this.#calls?.counted(event.usage);
      case "modelRetry":
        return this.#retry(event);
      case "commandStarted":
      case "commandEnded":
      case "patchStarted":
      case "patchEnded":
      case "mcpToolStarted":
      case "mcpToolEnded":
        return this.#takeTool(event);
      case "approvalRequested":
        return this.#approvalsSeen().asked(event.request);
      case "approvalDecided":
        return this.#approvalsSeen().decided(event.id, event.decision);
      case "historyCompacted":
        return this.#scope.log.info("history compacted");
      case "backgroundNote":
        return this.#scope.log.info("engine note", { remark: event.message });
      case "warning":
        return this.#scope.log.info("warning sent to the client", { warning: event.message });
      case "turnCompleted":
      case "turnFailed":
      case "turnAborted":
        return this.#end(event);
      default:
        return undefined;
    }
  }

  #retry({ attempt, limit, cause }: Extract<ThreadEvent, { readonly type: "modelRetry" }>): void {
    this.#scope.log.target("model").warn("asking the model again", { attempt, limit, cause });
    this.#calls?.retry();
  }

  #approvalsSeen(): ApprovalWatch {
    this.#approvals ??= new ApprovalWatch({ ...this.#scope, log: this.#scope.log.target("approvals") });
    return this.#approvals;
  }

  #takeTool(event: Extract<ThreadEvent, { readonly callId: string }>): void {
    this.#tools ??= new ToolWatch({ ...this.#scope, log: this.#scope.log.target("tools") });
    switch (event.type) {
      case "commandStarted":
        this.#calls?.end("answered");
        return this.#tools.commandStarted(event);
      case "commandEnded":
        this.#tools.commandEnded(event);
        break;
      case "patchStarted":
        return this.#calls?.end("answered");
      case "patchEnded":
        this.#tools.patchEnded(event);
        break;
      case "mcpToolStarted":
        this.#calls?.end("answered");
        return this.#tools.toolStarted(event);
      case "mcpToolEnded":
        this.#tools.toolEnded(event);
        break;
      default:
        return;
    }
    // The model gets the results next.
    if (!this.#tools.busy) this.#calls?.suppose();
  }

  #end(end: TurnEnd): void {
    const outcome = outcomeOf(end);
    this.#calls?.close(outcome === "completed" ? "answered" : outcome);
    this.#tools?.close(outcome);
    this.#approvals?.close();
    const ms = msSince(this.#since);
    this.#scope.metrics.turnEnded({ outcome, ms });
    this.#say(end, { outcome, ms, model: this.#model });
    this.#scope.span.set({ "codex.outcome": outcome, "gen_ai.request.model": this.#model });
    this.#scope.span.end(outcome === "completed" ? undefined : outcome);
    this.#scope.ended?.(outcome);
  }

  #say(end: TurnEnd, facts: { readonly outcome: string; readonly ms: number; readonly model: string }): void {
    const { log, logsContent } = this.#scope;
    if (end.type === "turnFailed") log.error("turn failed", { ...facts, cause: end.message });
    else if (end.type === "turnCompleted") log.info("turn ended", { ...facts, answer: logsContent ? end.lastMessage : undefined });
    else log.info("turn ended", { ...facts, reason: end.reason });
  }
}

function outcomeOf({ type }: TurnEnd): TurnOutcome["status"] {
  if (type === "turnCompleted") return "completed";
  return type === "turnFailed" ? "failed" : "interrupted";
}

/** The log and the trace of the call that requested the turn. */
export interface TurnOrigin {
  readonly log: Log;
  readonly trace: TraceContext | undefined;
  /** Called once, when the turn has ended. */
  readonly ended?: (outcome: TurnOutcome["status"]) => void;
}

/** Reports a turn to logs, metrics and traces. Costs one comparison per delta. */
export function turnWatch(telemetry: Telemetry, origin: TurnOrigin): TurnWatch {
  return (turn) => {
    const watcher = new TurnWatcher(turn, telemetry, origin);
    return (event) => watcher.take(event);
  };
}

class TurnWatcher {
  readonly #turn: Turn;
  readonly #telemetry: Telemetry;
  readonly #origin: TurnOrigin;
  readonly #log: Log;
  #started: StartedTurn | undefined;

  constructor(turn: Turn, telemetry: Telemetry, origin: TurnOrigin) {
    this.#turn = turn;
    this.#telemetry = telemetry;
    this.#origin = origin;
    this.#log = origin.log.target("agent").with({ thread_id: turn.threadId, turn_id: turn.id });
    telemetry.metrics.turnQueued();
  }

  /** A failing observer must not break the turn. */
  take(event: ThreadEvent): void {
    try {
      this.#started ??= this.#start(event);
      this.#started.take(event);
    } catch (error) {
      this.#log.error("turn watcher failed", { cause: describe(error) });
    }
  }

  #start(first: ThreadEvent): StartedTurn {
    const { tracing, metrics, logsContent } = this.#telemetry;
    const { threadId, id, input } = this.#turn;
    const attributes = { "codex.thread_id": threadId, "codex.turn_id": id };
    const span = tracing.startSpan("turn", { parent: this.#origin.trace, attributes });
    metrics.turnStarted();
    // A turn that is interrupted while it is queued has only an end event.
    if (!isTurnEnd(first)) this.#log.info("turn started", { prompt: logsContent ? input.text : undefined });
    return new StartedTurn({ ...this.#telemetry, log: this.#log, span, ended: this.#origin.ended });
  }
}

/** A client may choose any request id; log lines are bounded. */
const MAX_ID_LENGTH = 128;

/** The properties of a call, for every protocol. */
export interface ObservedCall {
  readonly requestId: string | number | bigint;
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
  /** The call is a protocol method, not a tool call. */
  readonly isMethod?: true;
  /** The trace context that the client sent. */
  readonly trace?: TraceContext | undefined;
}

/** One call in logs, metrics and traces. It ends once: with its response, with its failure, or with the turn that it started. */
export interface CallTrail {
  /** Observes the turns that the call starts. Their outcome becomes the call's outcome. */
  readonly watchTurn: TurnWatch;
  /** Returns its argument. */
  ended<T extends { readonly isError?: true }>(answer: T): T;
  failed(error: unknown): void;
}

export function beginCallTrail(tool: string, call: ObservedCall, telemetry: Telemetry): CallTrail {
  // A stdio server has one session without an id. A call of the stateless era has no session.
  const sessionId = call.caller ? call.caller.sessionId : "stdio";
  const requestId = String(call.requestId).slice(0, MAX_ID_LENGTH);
  const log = telemetry.log.target("mcp").with({ session_id: sessionId, request_id: requestId });
  const asked = call.isMethod ? { "mcp.method.name": tool } : { "mcp.method.name": "tools/call", "gen_ai.tool.name": tool };
  const span = telemetry.tracing.startSpan(call.isMethod ? tool : `tools/call ${tool}`, {
    parent: call.trace,
    kind: "server",
    attributes: { ...asked, "mcp.session.id": sessionId, "jsonrpc.request.id": requestId },
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
