import type { Span } from "../../observability/tracing.js";
import type { ThreadEvent, TurnOutcome } from "../../threads/events.js";
import { msSince, now, type TurnScope } from "./scope.js";

type Event<Type extends ThreadEvent["type"]> = Extract<ThreadEvent, { type: Type }>;

interface Running {
  readonly kind: "command" | "tool call";
  readonly since: number;
  readonly span: Span;
}

/** Commands, patches and calls to the agent's MCP servers within a turn. */
export class ToolWatch {
  readonly #scope: TurnScope;
  /** At most what the engine runs at once; emptied at the turn's end. */
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
    // Else it was left running by an earlier turn, and counted there.
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

  /** The turn is over; a command may go on after a turn that was completed, everything else was stopped. */
  close(outcome: TurnOutcome["status"]): void {
    const { metrics } = this.#scope;
    for (const { kind, since, span } of this.#running.values()) {
      const ms = msSince(since);
      if (kind === "command") metrics.commandEnded({ outcome: outcome === "completed" ? "left running" : "interrupted", ms });
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
