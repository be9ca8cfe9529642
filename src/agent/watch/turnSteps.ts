import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import type { Log } from "../../observability/log.js";
import { msSince, now, type Span, type Telemetry } from "../../observability/telemetry.js";
import type { ThreadEvent, TurnOutcome } from "../../threads/events.js";
import type { TokenUsage, TokenUsageInfo } from "../../threads/usage.js";

/** What the observers of one turn share. Log lines carry the turn's ids; new spans are children of `span`. */
export interface TurnScope extends Telemetry {
  readonly log: Log;
  readonly span: Span;
  readonly ended: ((outcome: TurnOutcome["status"]) => void) | undefined;
}

type Ending = "answered" | "retried" | "failed" | "interrupted";

interface ModelCall {
  readonly since: number;
  firstDeltaAt?: number;
}

/**
 * Derives the model calls of a turn from its events. If the engine reports its requests, those count. For other engines, a call is assumed
 * whenever no tool runs; an assumed call counts only if output follows. A call ends when its tokens are reported.
 */
export class ModelWatch {
  readonly #scope: TurnScope;
  readonly #modelOf: () => string;
  #call: ModelCall | undefined;
  #engineSays = false;
  #countedTotal: number | undefined;

  constructor(scope: TurnScope, modelOf: () => string) {
    this.#scope = scope;
    this.#modelOf = modelOf;
  }

  /** The engine reports that it sends a request to the model. */
  begin(): void {
    if (this.#engineSays && this.#call?.firstDeltaAt !== undefined) this.end("answered");
    this.#engineSays = true;
    this.#call = { since: now() };
  }

  /** Assumes a model call: the engine can be doing nothing else. */
  suppose(): void {
    if (!this.#engineSays) this.#call ??= { since: now() };
  }

  /** Part of the answer has arrived. Called for every delta. */
  delta(): void {
    if (this.#call && this.#call.firstDeltaAt === undefined) this.#call.firstDeltaAt = now();
  }

  /** An item has arrived. It may also be input that was sent to the model. */
  item(): void {
    if (this.#engineSays) this.delta();
  }

  /** Tokens are also reported when a request is accepted; those belong to earlier requests. */
  counted(usage: TokenUsageInfo | null): void {
    const total = usage?.total_token_usage.total_tokens;
    if (this.#call?.firstDeltaAt !== undefined) this.end("answered", total === this.#countedTotal ? undefined : usage?.last_token_usage);
    this.#countedTotal = total;
  }

  /** The wait before a retry counts as part of the call. */
  retry(): void {
    this.end("retried");
    this.#call = { since: now() };
  }

  /** The turn has ended. */
  close(outcome: Exclude<Ending, "retried">): void {
    if (this.#engineSays || this.#call?.firstDeltaAt !== undefined) this.end(outcome);
  }

  end(outcome: Ending, tokens?: TokenUsage): void {
    const call = this.#call;
    if (!call) return;
    this.#call = undefined;
    const ms = msSince(call.since);
    const firstTokenMs = call.firstDeltaAt === undefined ? undefined : Math.round(call.firstDeltaAt - call.since);
    const { log, metrics } = this.#scope;
    const model = this.#modelOf();
    metrics.modelCallEnded({ model, outcome, ms, firstTokenMs });
    if (tokens) metrics.tokensUsed(countsOf(tokens));
    log.debug("model call ended", { model, outcome, ms, first_token_ms: firstTokenMs, tokens: tokens?.total_tokens });
    this.#trace(call, outcome, tokens);
  }

  #trace({ since }: ModelCall, outcome: Ending, tokens: TokenUsage | undefined): void {
    const { tracing, span } = this.#scope;
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": this.#modelOf(),
      "gen_ai.usage.input_tokens": tokens?.input_tokens,
      "gen_ai.usage.output_tokens": tokens?.output_tokens,
      "codex.outcome": outcome,
    };
    const call = tracing.startSpan("model call", { parent: span.context, kind: "client", attributes, startedAt: since });
    call.end(outcome === "answered" ? undefined : outcome);
  }
}

function countsOf(tokens: TokenUsage) {
  return {
    input: tokens.input_tokens,
    cachedInput: tokens.cached_input_tokens,
    output: tokens.output_tokens,
    reasoning: tokens.reasoning_output_tokens,
  };
}

type Event<Type extends ThreadEvent["type"]> = Extract<ThreadEvent, { type: Type }>;

interface Running {
  readonly kind: "command" | "tool call";
  readonly since: number;
  readonly span: Span;
}

/** Commands, patches and MCP tool calls of a turn. */
export class ToolWatch {
  readonly #scope: TurnScope;
  /** Bounded by what the engine runs at the same time; emptied when the turn ends. */
  readonly #running = new Map<string, Running>();

  constructor(scope: TurnScope) {
    this.#scope = scope;
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  commandStarted({ callId, command }: Event<"commandStarted">): void {
    const { log, metrics } = this.#scope;
    metrics.commandStarted();
    log.info("command started", { call_id: callId });
    log.debug("command", { call_id: callId, command: command.join(" ") });
    this.#begin(callId, "command", {});
  }

  commandEnded({ callId, exitCode, durationMs }: Event<"commandEnded">): void {
    const { log, metrics } = this.#scope;
    const running = this.#take(callId);
    const ms = running ? msSince(running.since) : Math.round(durationMs);
    log.info("command ended", { call_id: callId, exit_code: exitCode, ms });
    // Otherwise an earlier turn left it running, and it was counted there.
    if (running) metrics.commandEnded({ outcome: exitCode === 0 ? "succeeded" : "failed", ms });
    running?.span.set({ "process.exit.code": exitCode });
    running?.span.end(exitCode === 0 ? undefined : `exit code ${exitCode}`);
  }

  patchEnded({ callId, success, changes }: Event<"patchEnded">): void {
    const { log, metrics } = this.#scope;
    metrics.patchEnded({ outcome: success ? "applied" : "failed" });
    log.info(success ? "patch applied" : "patch not applied", { call_id: callId, files: Object.keys(changes).length });
  }

  toolStarted({ callId, invocation: { server, tool } }: Event<"mcpToolStarted">): void {
    this.#scope.log.info("tool called", { call_id: callId, server, tool });
    this.#begin(callId, "tool call", { "codex.mcp_server": server, "gen_ai.tool.name": tool });
  }

  toolEnded({ callId, result }: Event<"mcpToolEnded">): void {
    const running = this.#take(callId);
    const outcome = "Ok" in result ? "ok" : "error";
    const ms = running ? msSince(running.since) : 0;
    this.#scope.metrics.toolCallEnded({ outcome, ms });
    this.#scope.log.info("tool answered", { call_id: callId, outcome, ms });
    running?.span.end(outcome === "ok" ? undefined : "error");
  }

  /** The turn has ended. A command may outlive a completed turn; everything else was stopped. */
  close(outcome: TurnOutcome["status"]): void {
    const { metrics } = this.#scope;
    for (const { kind, since, span } of this.#running.values()) {
      const ms = msSince(since);
      if (kind === "command") metrics.commandEnded({ outcome: outcome === "completed" ? "left_running" : "interrupted", ms });
      else metrics.toolCallEnded({ outcome: "interrupted", ms });
      span.end(kind === "command" && outcome === "completed" ? undefined : "interrupted");
    }
    this.#running.clear();
  }

  #begin(callId: string, kind: Running["kind"], attributes: Readonly<Record<string, string>>): void {
    const { tracing, span } = this.#scope;
    const opened = tracing.startSpan(kind, { parent: span.context, attributes: { ...attributes, "codex.call_id": callId } });
    this.#running.set(callId, { kind, since: now(), span: opened });
  }

  #take(callId: string): Running | undefined {
    const running = this.#running.get(callId);
    this.#running.delete(callId);
    return running;
  }
}

/** The questions of a turn, and who decided them and how. */
export class ApprovalWatch {
  readonly #scope: TurnScope;
  /** When each open question was asked. The desk limits their number, and the end of the turn removes them. */
  readonly #open = new Map<ApprovalId, number>();

  constructor(scope: TurnScope) {
    this.#scope = scope;
  }

  asked({ id, subject }: ApprovalRequest): void {
    this.#open.set(id, now());
    this.#scope.metrics.approvalAsked();
    this.#scope.log.info("approval asked", { approval_id: id, call_id: subject.callId || undefined, kind: subject.kind });
  }

  decided(id: ApprovalId, decision: ApprovalDecision): void {
    const channel = decision.by ?? "unknown";
    if (decision.kind === "denied" && decision.failed) this.#settle(id, { decision: "failed", channel, cause: decision.reason });
    else this.#settle(id, { decision: decision.kind, channel });
  }

  /** Questions without a decision are withdrawn when the turn ends. */
  close(): void {
    for (const id of this.#open.keys()) this.#settle(id, { decision: "none", channel: "withdrawal" });
  }

  #settle(id: ApprovalId, { decision, channel, cause }: Settlement): void {
    const since = this.#open.get(id);
    if (since === undefined) return;
    this.#open.delete(id);
    const ms = msSince(since);
    this.#scope.metrics.approvalSettled({ decision, channel, ms });
    if (decision === "failed") this.#scope.log.warn("approval failed", { approval_id: id, channel, ms, cause });
    else this.#scope.log.info("approval decided", { approval_id: id, decision, channel, ms });
  }
}

interface Settlement {
  /** `failed`: the response was an error or unreadable. It counts as a denial. */
  readonly decision: ApprovalDecision["kind"] | "none" | "failed";
  readonly channel: string;
  /** Why it failed. */
  readonly cause?: string | undefined;
}
