import type { ThreadId, TurnId } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import type { EventMsg } from "./eventMsg.js";

/**
 * What Codex 0.152.1, the last with an MCP server, put into its events beside the fields of 0.92.0: whose event it is, how it ended, and
 * when. Times are those at which the event is told to a client, which follows the turn as it runs.
 */
export class LaterFields {
  readonly #threadId: ThreadId;
  readonly #turnId: TurnId;
  readonly #now: () => number;
  readonly #itemsStarted = new Map<string, number>();
  #turnStarted: number | undefined;

  constructor({ threadId, id }: { readonly threadId: ThreadId; readonly id: TurnId }, now: () => number = Date.now) {
    this.#threadId = threadId;
    this.#turnId = id;
    this.#now = now;
  }

  /** The events one shows as, with the fields added. */
  added(event: ThreadEvent, msgs: readonly EventMsg[]): readonly EventMsg[] {
    // Codex repeats a request without a word; somebody who waits should know.
    if (event.type === "modelRetry" && event.quiet) return [{ type: "background_event", message: retryText(event) }];
    return msgs.map((msg) => ({ ...msg, ...this.#fieldsOf(msg, event) }));
  }

  #fieldsOf(msg: EventMsg, event: ThreadEvent): Readonly<Record<string, unknown>> {
    const at = this.#now();
    switch (msg.type) {
      case "session_configured":
        return { thread_id: this.#threadId };
      case "task_started":
        this.#turnStarted = at;
        return { turn_id: this.#turnId, started_at: seconds(at) };
      case "task_complete":
      case "turn_aborted":
        return { turn_id: this.#turnId, ...this.#span(at) };
      case "item_started":
      case "item_completed":
        return this.#itemTimes(msg, event, at);
      case "exec_command_begin":
        return { process_id: msg["process_id"] ?? null, started_at_ms: at };
      case "exec_command_end":
        return {
          process_id: msg["process_id"] ?? null,
          completed_at_ms: at,
          ...(event.type === "commandEnded" && { status: commandStatus(event) }),
        };
      case "patch_apply_end":
        return event.type === "patchEnded" ? { status: patchStatus(event) } : {};
      case "exec_approval_request":
        return { started_at_ms: at, available_decisions: decisions(msg["proposed_execpolicy_amendment"]) };
      case "apply_patch_approval_request":
        return { started_at_ms: at };
      default:
        return {};
    }
  }

  #span(at: number): Readonly<Record<string, unknown>> {
    const started = this.#turnStarted;
    if (started === undefined) return { completed_at: seconds(at) };
    return { started_at: seconds(started), completed_at: seconds(at), duration_ms: at - started };
  }

  #itemTimes(msg: EventMsg, event: ThreadEvent, at: number): Readonly<Record<string, unknown>> {
    if (event.type !== "itemStarted" && event.type !== "itemCompleted") return {};
    const { id } = event.item;
    if (msg.type === "item_started") {
      this.#itemsStarted.set(id, at);
      return { started_at_ms: at };
    }
    const started = this.#itemsStarted.get(id) ?? at;
    this.#itemsStarted.delete(id);
    return { started_at_ms: started, completed_at_ms: at };
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function commandStatus({ exitCode, declined }: Extract<ThreadEvent, { type: "commandEnded" }>): string {
  if (declined) return "declined";
  return exitCode === 0 ? "completed" : "failed";
}

function patchStatus({ success, declined }: Extract<ThreadEvent, { type: "patchEnded" }>): string {
  if (declined) return "declined";
  return success ? "completed" : "failed";
}

/** What may be answered to a question about a command. */
function decisions(amendment: unknown): readonly unknown[] {
  const always = amendment === undefined ? [] : [{ approved_execpolicy_amendment: { proposed_execpolicy_amendment: amendment } }];
  return ["approved", "approved_for_session", ...always, "denied", "abort"];
}

function retryText({ attempt, limit, cause }: Extract<ThreadEvent, { type: "modelRetry" }>): string {
  return `Asking the model again (${attempt}/${limit}): ${cause}`;
}
